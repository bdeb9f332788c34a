// Runs separate pieces of work, such as batches, at the same time, one on each thread. With parallel_ranges, by contrast,
// threads share one piece of work.
#pragma once

#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/threads/threads.h"

namespace graphrun {

// Calls work(0) on the calling thread and work(i), i from 1 to count - 1, each on a new thread; threads() is 1 on all of them.
// If count is 1, work(0) may use all threads. If the system refuses a thread, or the memory for it, the remaining calls are not
// made; `work` must therefore take its items from a shared queue. Returns when all have ended; rethrows the first exception
// that one threw.
template <class Work>
void on_own_threads(int count, const Work& work) {
  if (count == 1) return work(0);
  std::exception_ptr failure;
  std::mutex lock;
  const auto run = [&](int i) {
    const SingleThread alone;
    try {
      work(i);
    } catch (...) {
      const std::lock_guard<std::mutex> guard(lock);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  try {
    others.reserve(static_cast<std::size_t>(count - 1));
    for (int i = 1; i < count; ++i) others.emplace_back(run, i);
  } catch (const std::system_error&) {  // the others do its work
  } catch (const std::bad_alloc&) {
  }
  run(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace graphrun
