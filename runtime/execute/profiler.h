// Records where runs spend their time: a total for each node, and single events for a trace.
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

// Records how long nodes ran. Callers hold a pointer that is null if no profile was requested.
//
// Memory is bounded: events beyond `most_events` count only in the totals; all nodes beyond `most_nodes` share one total. After
// the first event of a node, recording another allocates nothing.
//
// Threads: any thread may record at any time.
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

  // Nanoseconds of a monotonic clock.
  static std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }

  // Records that node `name`, an `op`, ran on the calling thread from `start` to `end`, both from now().
  void record(std::string_view name, std::string_view op, std::int64_t start, std::int64_t end);

  // Records a whole run of an executable, which nodes' shares are relative to; without any, they are relative to the sum over
  // the nodes.
  void record_run(std::int64_t start, std::int64_t end);

  std::vector<Total> totals() const;        // longest time first
  std::vector<Total> totals_by_op() const;  // the same, by op: `name` is empty
  std::int64_t dropped() const;             // events that are included only in the totals

  // In Chrome's trace format (chrome://tracing, Perfetto); times count from the first event.
  std::string chrome_trace() const;
  // Throws UserError like AtomicFile.
  void write_chrome_trace(const std::string& path) const;
  // The totals as lines of text: share of the runs' time, milliseconds, runs, op, name; at most `most` lines. A loop's share
  // includes the nodes in it.
  std::string table(std::size_t most = 30) const;

 private:
  struct Event {
    std::int64_t start, nanoseconds;
    std::uint32_t node, thread;
  };
  // A node's op and name as passed in; the stored key owns its strings.
  using Key = std::pair<std::string_view, std::string_view>;
  struct NodeLess {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return Key(a.first, a.second) < Key(b.first, b.second);
    }
  };

  std::uint32_t node_of(std::string_view name, std::string_view op);

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::uint32_t, NodeLess> nodes_;
  std::vector<Total> totals_;
  std::vector<Event> events_;
  std::size_t most_events_, most_nodes_;
  std::int64_t dropped_ = 0, run_nanoseconds_ = 0;
};

}  // namespace graphrun
