// How large a graph may become while it is expanded. Where each of a few graphs calls the next one twice, some lines of text
// would fill any memory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "compiler/frontend/region.h"

namespace graphrun::frontend {

class Budget {
 public:
  static constexpr std::size_t kMostInstances = 20000, kMostValues = 200000;
  static constexpr std::size_t kMostNested = 250;  // calls, well within the stack of every build, so that all say the same

  // `path` and `at`: of the call that makes it, of the graph that values are for. Beyond the limit each throws the same
  // Failure.
  void add_instance(const std::string& path, const Location& at);
  void add_values(Region& region, const std::string& path, const Location& at);  // those that were not counted yet

  [[noreturn]] void stop_too_deep(const Location& at);

  // What was thrown, for whoever must know that something is missing.
  const std::optional<Failure>& exceeded() const { return exceeded_; }

 private:
  [[noreturn]] void stop(const std::string& code, const Location& at, const std::string& text, std::vector<std::string> notes);
  [[noreturn]] void exceed(const std::string& found, const std::string& path, const Location& at);

  std::size_t instances_ = 0, values_ = 0;
  std::optional<Failure> exceeded_;
};

}  // namespace graphrun::frontend
