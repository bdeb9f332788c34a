// Limits the size of a graph during expansion. If each of a few graphs calls the next one twice, a few lines of text could
// exhaust any amount of memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compiler/frontend/region.h"

namespace graphrun::frontend {

class Budget {
 public:
  static constexpr std::size_t kMostInstances = 20000, kMostValues = 200000;
  static constexpr std::size_t kMostNested = 250;  // calls; this fits the stack of every build, so all agree

  // `path` and `at`: those of the call that makes the instance, or of the graph that the values are for. Beyond the limit, each
  // throws the same Failure.
  void add_instance(const std::string& path, const Location& at);
  void add_values(Region& region, const std::string& path, const Location& at);  // counts those that have not been counted yet

  [[noreturn]] void stop_too_deep(const Location& at);

  // The Failure that was thrown, for code that must know that something is missing.
  const std::optional<Failure>& exceeded() const { return exceeded_; }

 private:
  [[noreturn]] void stop(const std::string& code, const Location& at, const std::string& text, std::vector<std::string> notes);
  [[noreturn]] void exceed(const std::string& found, const std::string& path, const Location& at);

  std::size_t instances_ = 0, values_ = 0;
  std::optional<Failure> exceeded_;
};

}  // namespace graphrun::frontend
