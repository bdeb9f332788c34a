// The one thread pool: OpenMP's.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "runtime/threads/cores.h"

namespace graphrun {

// The number of cores that this process may use: by its affinity mask and its control group's share of processor time.
int core_count();

// Sets the process's number of threads, from 1 to core_count(), and that of libraries for work that the calling thread starts.
// A program calls it once, with threads() unless the user gives a number, before it makes executables: a library primitive
// keeps the number of threads it was made with, and without the call libraries use OpenMP's own default, which ignores control
// groups.
// Throws UserError (kUsage, E0506) if the number is out of range.
void set_threads(int threads);
// How many threads work that the calling thread starts may use: 1 while a SingleThread exists there, else the process's number,
// by default core_count(), or fewer if OMP_NUM_THREADS says so.
int threads();

// Sets the number of threads, and restores the previous one when destroyed.
class ScopedThreads {
 public:
  explicit ScopedThreads(int count) : before_(threads()) { set_threads(count); }
  ~ScopedThreads() { set_threads(before_); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  const int before_;
};

// While it exists, work that the calling thread starts runs on that thread alone, libraries' work included. Other threads are
// not affected. The number of threads is part of what an executable binds: one that has run on several must not run here.
class SingleThread {
 public:
  SingleThread();
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  const int libraries_before_;
  const bool before_;
};

// Where part i of `parts` nearly equal parts of `size` begins: at a multiple of `step`, or at the end.
inline std::int64_t part_begin(std::int64_t size, std::int64_t parts, std::int64_t step, std::int64_t i) {
  const std::int64_t steps = (size + step - 1) / step;
  return std::min(size, steps * i / parts * step);
}

// Calls fn(begin, end) concurrently for ranges that partition [0, n). Every range begins at a multiple of `grain`; so if grain
// is a multiple of the vector width, which elements fall into vectors and which into the remainder does not depend on the
// number of threads. Neither does any result, as long as no two calls write the same element. Work of at most `grain` items,
// and calls from inside a parallel region, run on the calling thread. Allocates nothing. If several ranges throw, the exception
// of the first range is rethrown, so an error names the first bad element for any number of threads.
template <class Fn>
void parallel_ranges(std::int64_t n, std::int64_t grain, Fn&& fn) {
  if (n <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t blocks = (n - 1) / grain + 1;
  const std::int64_t parts = omp_in_parallel() ? 1 : std::min<std::int64_t>(threads(), blocks);
  if (parts == 1) {
    fn(std::int64_t{0}, n);
    return;
  }
  std::exception_ptr failure;
  std::int64_t failed = parts;
  Cores& cores = Cores::of_this_thread();
  cores.begin();
#pragma omp parallel num_threads(static_cast <int>(parts))
  {
    if (omp_get_thread_num() != 0) cores.enter();
#pragma omp for schedule(static, 1)
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t begin = blocks / parts * part + std::min(part, blocks % parts);
      const std::int64_t end = blocks / parts * (part + 1) + std::min(part + 1, blocks % parts);
      try {
        fn(begin * grain, end == blocks ? n : end * grain);
      } catch (...) {
#pragma omp critical(graphrun_parallel_ranges)
        if (part < failed) failed = part, failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace graphrun
