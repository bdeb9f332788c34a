#include "compiler/frontend/budget.h"

#include <algorithm>

namespace graphrun::frontend {
namespace {

constexpr std::size_t kMostShown = 12;  // calls shown of a chain

std::size_t depth_of(const std::string& path) { return static_cast<std::size_t>(std::count(path.begin(), path.end(), '.')); }

// "encode -> layers -> 0 -> read" for "encode.layers.0.read."; a long chain is shortened in the middle.
std::string chain(const std::string& path) {
  std::string out;
  const std::size_t calls = depth_of(path);
  for (std::size_t begin = 0, k = 0; begin < path.size(); ++k) {
    const std::size_t end = path.find('.', begin);
    const bool shown = calls <= kMostShown || k < kMostShown / 2 || k + kMostShown / 2 >= calls;
    if (shown) {
      out += (out.empty() ? "" : " -> ") + path.substr(begin, end - begin);
    } else if (k == kMostShown / 2) {
      out += " -> …";
    }
    begin = end == std::string::npos ? path.size() : end + 1;
  }
  return out;
}

}  // namespace

void Budget::add_instance(const std::string& path, const Location& at) {
  if (depth_of(path) > kMostNested) stop_too_deep(at);
  if (++instances_ > kMostInstances || exceeded_) exceed(std::to_string(kMostInstances) + " calls", path, at);
}

void Budget::add_values(Region& region, const std::string& path, const Location& at) {
  values_ += region.graph.values.size() - region.counted;
  region.counted = region.graph.values.size();
  if (values_ > kMostValues || exceeded_) exceed(std::to_string(kMostValues) + " values", path, at);
}

void Budget::exceed(const std::string& found, const std::string& path, const Location& at) {
  std::vector<std::string> notes;
  if (!path.empty()) notes.push_back("note: the calls that led here: " + chain(path));
  notes.push_back("help: a graph called twice by a graph called twice occurs four times: call it once, or nest less deeply");
  stop("E0250 graph-too-large", at, "with this the graph has more than " + found + ", repetitions and calls in calls included",
       std::move(notes));
}

void Budget::stop_too_deep(const Location& at) {
  stop("E0106 too-deep", at, "the graph nests too deeply to be read",
       {"help: repeat { … } stacks layers without nesting calls"});
}

void Budget::stop(const std::string& code, const Location& at, const std::string& text, std::vector<std::string> notes) {
  if (exceeded_) throw *exceeded_;
  try {
    fail(code, at, text, std::move(notes));
  } catch (const Failure& failure) {
    exceeded_ = failure;
    throw;
  }
}

}  // namespace graphrun::frontend
