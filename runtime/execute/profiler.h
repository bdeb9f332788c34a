// Where the time of runs goes: a total for each node, and single events for a trace.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphrun {

// Takes note of how long nodes ran. Meant to depend on a pointer that is null where nobody asked for a profile.
//
// Memory is bounded: of the events beyond the limit, and of nodes beyond theirs, only sums are kept. After the first
// event of a node, noting another allocates nothing.
//
// Threads: any may record at any time.
class Profiler {
 public:
  struct Total {
    std::string name, op;
    std::int64_t runs = 0;
    std::int64_t nanoseconds = 0;
    std::int64_t longest = 0;  // of one run
  };

  static constexpr std::size_t kMostEvents = std::size_t{1} << 20;
  explicit Profiler(std::size_t most_events = kMostEvents, std::size_t most_nodes = std::size_t{1} << 17);

  // Nanoseconds of a clock that never goes back.
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  // The node `name`, an `op`, ran from `start` to `end`, both of now(), on the calling thread.
  void record(std::string_view name, std::string_view op, std::int64_t start, std::int64_t end);

  // A whole run of an executable, which its nodes' shares are of; without any they are of the sum over the nodes.
  void record_run(std::int64_t start, std::int64_t end);

  std::vector<Total> totals() const;        // most time first
  std::vector<Total> totals_by_op() const;  // the same, by op: `name` is empty
  std::int64_t dropped() const;             // events that stand in totals alone

  // Chrome's trace format (chrome://tracing, Perfetto), times from the first event on.
  std::string chrome_trace() const;
  // Throws UserError as AtomicFile does.
  void write_chrome_trace(const std::string& path) const;
  // The totals as lines of text: share of the runs' time, milliseconds, runs, op, name; at most `most` of them. A loop's share
  // holds those of the nodes in it.
  std::string table(std::size_t most = 30) const;

 private:
  struct Event {
    std::int64_t start, nanoseconds;
    std::uint32_t node, thread;
  };
  // The name of a node as it comes in and as it is kept.
  using Key = std::pair<std::string_view, std::string_view>;
  struct Less {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return Key(a.first, a.second) < Key(b.first, b.second);
    }
  };

  std::uint32_t node_of(std::string_view name, std::string_view op);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint32_t, Less> nodes_;
  std::vector<Total> totals_;
  std::vector<Event> events_;
  std::size_t most_events_, most_nodes_;
  std::int64_t dropped_ = 0, run_nanoseconds_ = 0;
};

}  // namespace graphrun
