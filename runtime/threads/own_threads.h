// Work that several threads do at the same time, each alone: batches of their own, as against parallel_ranges, where threads
// share one piece of work.
#pragma once

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/threads/threads.h"

namespace graphrun {

// Calls work(i) for i from 0 to count - 1, each on a thread of its own, for which threads() is 1; if count is 1, on the calling
// thread, which keeps the others. Returns when all have ended; rethrows the first exception that one threw.
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
  for (int i = 1; i < count; ++i) others.emplace_back(run, i);
  run(0);
  for (std::thread& other : others) other.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace graphrun
