#include "tools/lsp/background_check.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>

#include "runtime/base/system_call.h"

namespace graphrun::lsp {

BackgroundCheck::BackgroundCheck(const std::function<std::string()>& check) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  process_ = fork();
  if (process_ == 0) {
    close(ends[0]);
    std::string text;
    try {
      text = check();
    } catch (const std::exception&) {  // the parent sees an empty result
    }
    for (std::size_t done = 0; done < text.size();) {
      const ssize_t wrote = uninterrupted([&] { return write(ends[1], text.data() + done, text.size() - done); });
      if (wrote <= 0) break;
      done += static_cast<std::size_t>(wrote);
    }
    _exit(0);
  }
  close(ends[1]);
  descriptor_ = ends[0];
}

BackgroundCheck::~BackgroundCheck() {
  if (descriptor_ >= 0) close(descriptor_);
  if (process_ > 0) {
    kill(process_, SIGKILL);
    uninterrupted([&] { return waitpid(process_, nullptr, 0); });
  }
}

std::optional<std::string> BackgroundCheck::receive() {
  if (descriptor_ < 0) return "";
  char block[65536];
  const ssize_t got = uninterrupted([&] { return read(descriptor_, block, sizeof block); });
  if (got > 0) {
    bytes_.append(block, static_cast<std::size_t>(got));
    return std::nullopt;
  }
  return std::move(bytes_);
}

}  // namespace graphrun::lsp
