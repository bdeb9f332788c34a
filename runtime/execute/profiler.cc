#include "runtime/execute/profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/base/file.h"

namespace graphrun {
namespace {

// A small number for each thread, in the order of first recording.
std::uint32_t thread_number() {
  static std::atomic<std::uint32_t> count{0};
  thread_local const std::uint32_t number = count++;
  return number;
}

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void most_time_first(std::vector<Profiler::Total>& totals) {
  std::stable_sort(totals.begin(), totals.end(), [](const auto& a, const auto& b) { return a.nanoseconds > b.nanoseconds; });
}

void add(Profiler::Total& to, std::int64_t runs, std::int64_t nanoseconds, std::int64_t longest) {
  to.runs += runs;
  to.nanoseconds += nanoseconds;
  to.longest = std::max(to.longest, longest);
}

}  // namespace

// Reserves memory for all events, which stays untouched until used, so that recording never waits for a buffer to grow.
Profiler::Profiler(std::size_t most_events, std::size_t most_nodes) : most_events_(most_events), most_nodes_(most_nodes) {
  events_.reserve(most_events);
}

std::uint32_t Profiler::node_of(std::string_view name, std::string_view op) {
  if (auto it = nodes_.find(Key(name, op)); it != nodes_.end()) return it->second;
  if (totals_.size() > most_nodes_) return static_cast<std::uint32_t>(most_nodes_);
  const auto node = static_cast<std::uint32_t>(totals_.size());
  if (node == most_nodes_) {
    totals_.push_back({"(all further nodes)", "", 0, 0, 0});
  } else {
    nodes_.emplace(std::pair(std::string(name), std::string(op)), node);
    totals_.push_back({std::string(name), std::string(op), 0, 0, 0});
  }
  return node;
}

void Profiler::record(std::string_view name, std::string_view op, std::int64_t start, std::int64_t end) {
  const std::uint32_t thread = thread_number();
  const std::int64_t nanoseconds = std::max<std::int64_t>(0, end - start);
  const std::lock_guard lock(mutex_);
  const std::uint32_t node = node_of(name, op);
  add(totals_[node], 1, nanoseconds, nanoseconds);
  if (events_.size() < most_events_) {
    events_.push_back({start, nanoseconds, node, thread});
  } else {
    ++dropped_;
  }
}

void Profiler::record_run(std::int64_t start, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  run_nanoseconds_ += std::max<std::int64_t>(0, end - start);
}

std::vector<Profiler::Total> Profiler::totals() const {
  std::vector<Total> totals;
  {
    const std::lock_guard lock(mutex_);
    totals = totals_;
  }
  most_time_first(totals);
  return totals;
}

std::vector<Profiler::Total> Profiler::totals_by_op() const {
  std::map<std::string, Total> by_op;
  for (const Total& total : totals()) {
    Total& sum = by_op[total.op];
    sum.op = total.op;
    add(sum, total.runs, total.nanoseconds, total.longest);
  }
  std::vector<Total> totals;
  for (auto& [op, total] : by_op) totals.push_back(std::move(total));
  most_time_first(totals);
  return totals;
}

std::int64_t Profiler::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

std::string Profiler::chrome_trace() const {
  const std::lock_guard lock(mutex_);
  std::int64_t first = events_.empty() ? 0 : events_.front().start;
  for (const Event& event : events_) first = std::min(first, event.start);
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const char* separator = "\n";
  for (const Event& event : events_) {
    const Total& node = totals_[event.node];
    fmt::format_to(std::back_inserter(text),
                   "{}{{\"name\":{},\"cat\":{},\"ph\":\"X\",\"pid\":0,\"tid\":{},\"ts\":{:.3f},\"dur\":{:.3f}}}", separator,
                   json_string(node.name), json_string(node.op), event.thread, static_cast<double>(event.start - first) * 1e-3,
                   static_cast<double>(event.nanoseconds) * 1e-3);
    separator = ",\n";
  }
  fmt::format_to(std::back_inserter(text), "\n],\"otherData\":{{\"dropped\":\"{}\"}}}}\n", dropped_);
  return text;
}

void Profiler::write_chrome_trace(const std::string& path) const { write_file(path, chrome_trace()); }

std::string Profiler::table(std::size_t most) const {
  const std::vector<Total> all = totals();
  std::int64_t sum = 0;
  {
    const std::lock_guard lock(mutex_);
    sum = run_nanoseconds_;
  }
  if (sum == 0) {
    for (const Total& total : all) sum += total.nanoseconds;
  }
  std::string text = fmt::format("{:>6}  {:>12}  {:>10}  {:<16}  {}\n", "share", "ms", "runs", "op", "node");
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const Total& total = all[i];
    const double share = sum > 0 ? 100 * static_cast<double>(total.nanoseconds) / static_cast<double>(sum) : 0;
    fmt::format_to(std::back_inserter(text), "{:>5.1f}%  {:>12.3f}  {:>10}  {:<16}  {}\n", share,
                   static_cast<double>(total.nanoseconds) * 1e-6, total.runs, total.op, total.name);
  }
  if (all.size() > most) fmt::format_to(std::back_inserter(text), "… and {} nodes more\n", all.size() - most);
  return text;
}

}  // namespace graphrun
