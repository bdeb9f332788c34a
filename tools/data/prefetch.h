// Reads ahead: a thread makes the next items while the caller works on the current one.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace graphrun {

// Items are returned in the order in which `make` made them; at most `ahead` are waiting. If `make` throws, next() throws the
// same after returning all earlier items. The destructor stops the thread after the current call of `make`.
//
// Threads: `make` runs only on the reader's thread; next() may be called from one thread at a time.
template <class T>
class Prefetcher {
 public:
  // `make` returns the next item, or nullopt at the end.
  explicit Prefetcher(std::function<std::optional<T>()> make, std::size_t ahead = 4)
      : make_(std::move(make)), ahead_(ahead < 1 ? 1 : ahead), thread_([this] { read(); }) {}
  ~Prefetcher() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Waits for the next item; nullopt at the end, and from then on.
  std::optional<T> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !made_.empty() || done_; });
    if (made_.empty()) {
      if (failure_) std::rethrow_exception(failure_);
      return std::nullopt;
    }
    std::optional<T> first(std::move(made_.front()));
    made_.pop_front();
    lock.unlock();
    changed_.notify_all();
    return first;
  }

 private:
  void read() {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || made_.size() < ahead_; });
        if (stop_) return;
      }
      std::exception_ptr failure;
      try {
        if (std::optional<T> thing = make_()) {
          {
            std::lock_guard lock(mutex_);
            made_.push_back(std::move(*thing));
          }
          changed_.notify_all();
          continue;
        }
      } catch (...) {
        failure = std::current_exception();
      }
      {
        std::lock_guard lock(mutex_);
        failure_ = failure;
        done_ = true;
      }
      changed_.notify_all();
      return;
    }
  }

  std::function<std::optional<T>()> make_;
  std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> made_;
  bool stop_ = false, done_ = false;
  std::exception_ptr failure_;
  std::thread thread_;  // last, so that it starts after the other members exist
};

}  // namespace graphrun
