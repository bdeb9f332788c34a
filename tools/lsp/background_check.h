// A long-running check in a process of its own. It sees the texts as they were when it began, and can be stopped.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

namespace graphrun::lsp {

class BackgroundCheck {
 public:
  // Starts `check`, whose result is text. The calling process must have no other threads.
  explicit BackgroundCheck(const std::function<std::string()>& check);
  ~BackgroundCheck();  // stops it
  BackgroundCheck(const BackgroundCheck&) = delete;
  BackgroundCheck& operator=(const BackgroundCheck&) = delete;

  int descriptor() const { return descriptor_; }  // for poll
  // Takes what has arrived. Returns the result once it is complete; an empty one if the check failed.
  std::optional<std::string> receive();

 private:
  pid_t process_ = -1;
  int descriptor_ = -1;
  std::string bytes_;
};

}  // namespace graphrun::lsp
