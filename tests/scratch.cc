// Gives every test program a folder of its own for testing::TempDir(), and removes it at the end: ctest runs many of them at
// once, and their files have fixed names.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

class Scratch {
 public:
  Scratch() {
    const char* const given = std::getenv("TEST_TMPDIR");
    folder_ = std::string(given != nullptr && *given != '\0' ? given : "/tmp") + "/graphrun-tests-XXXXXX";
    if (mkdtemp(folder_.data()) != nullptr) setenv("TEST_TMPDIR", folder_.c_str(), 1);
  }
  // Not in a process that a test has forked.
  ~Scratch() {
    std::error_code error;
    if (getpid() == owner_) std::filesystem::remove_all(folder_, error);
  }

 private:
  const pid_t owner_ = getpid();
  std::string folder_;
};

const Scratch scratch;

}  // namespace
