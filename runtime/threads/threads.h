// The one pool of threads: OpenMP's, which oneDNN runs on too.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

#include "runtime/threads/cores.h"

namespace graphrun {

// The cores that this process may use: its affinity mask, and its control group's share of processor time.
int core_count();

// Threads for the work that the calling thread starts from here on, from 1 to core_count(). A program calls it once, with
// threads() unless the user gives a number, before executables are made: a library primitive keeps the number under which it
// was made, and without the call libraries use OpenMP's own default, which ignores control groups.
// Throws UserError (kUsage, E0506) where the number is out of range.
void set_threads(int threads);
// How many that are; unless set core_count(), or fewer where OMP_NUM_THREADS says so.
int threads();

// So many threads until it is destroyed, then as many as before.
class ScopedThreads {
 public:
  explicit ScopedThreads(int count) : before_(threads()) { set_threads(count); }
  ~ScopedThreads() { set_threads(before_); }
  ScopedThreads(const ScopedThreads&) = delete;
  ScopedThreads& operator=(const ScopedThreads&) = delete;

 private:
  const int before_;
};

// Calls fn(begin, end) for ranges that make up [0, n), concurrently. Every range begins at a multiple of `grain`, so that where
// grain is a multiple of the vector's width, which elements fall into a vector and which into the rest does not depend on the
// number of threads; nor does any result, as long as no two calls write the same element. At most `grain` items, and calls from
// inside a parallel region, run on the calling thread. Allocates nothing. Of several exceptions the one of the first range
// comes out, so an error names the first bad element for any number of threads.
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
