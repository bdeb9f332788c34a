#include "runtime/threads/threads.h"

#include <fstream>
#include <string>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

// The processor time that a control group grants, in cores, rounded up; 0 if it sets no limit.
int granted_cores() {
  double quota = 0, period = 0;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> quota >> period && quota > 0 && period > 0) {
    return static_cast<int>(std::min((quota + period - 1) / period, 1e6));
  }
  std::ifstream quota_file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), period_file("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0) {
    return static_cast<int>(std::min((quota + period - 1) / period, 1e6));
  }
  return 0;
}

int& chosen_threads() {
  static int chosen = std::min(core_count(), omp_get_max_threads());  // OMP_NUM_THREADS holds unless --threads is given
  return chosen;
}

bool& is_single() {
  thread_local bool single = false;
  return single;
}

}  // namespace

int core_count() {
  static const int count = [] {
    const int affine = std::max(1, omp_get_num_procs()), granted = granted_cores();
    return granted > 0 ? std::min(affine, granted) : affine;
  }();
  return count;
}

void set_threads(int threads) {
  if (threads < 1 || threads > core_count()) {
    throw UserError(ExitCode::kUsage, "E0506 bad-thread-count", "cannot run on " + std::to_string(threads) + " threads",
                    {"help: give a number from 1 to " + std::to_string(core_count()) + ", the cores of this machine"});
  }
  GRAPHRUN_CHECK(!is_single(), "set_threads on a thread that works alone");
  chosen_threads() = threads;
  omp_set_num_threads(threads);
}

int threads() { return is_single() ? 1 : chosen_threads(); }

SingleThread::SingleThread() : libraries_before_(omp_get_max_threads()), before_(is_single()) {
  omp_set_num_threads(1);
  is_single() = true;
}

SingleThread::~SingleThread() {
  omp_set_num_threads(libraries_before_);
  is_single() = before_;
}

}  // namespace graphrun
