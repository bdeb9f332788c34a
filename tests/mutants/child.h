// Runs work in forked children, under limits, and says how each piece of it ended. The parent must have no threads but its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphrun::mutants {

enum class Ended : std::uint8_t {
  kNot,
  kAccepted,   // it came back
  kRefused,    // a UserError, each of its messages with a code and a text
  kException,  // any other exception, or a UserError without
  kSignal,
  kTime,
  kMemory,
};

struct Outcome {
  Ended ended = Ended::kNot;
  std::string text;        // of kRefused the first code; else what was said, with the calls that led there
  std::string where;       // of what is none of the first two: the same for the same cause
  std::size_t before = 0;  // pieces that the same child had done
  bool is_find() const { return ended != Ended::kAccepted && ended != Ended::kRefused; }
};

struct Limits {
  double seconds = 2;                        // of processor time, each
  std::size_t bytes = std::size_t{1} << 30;  // resident
};
// As they are, or where a sanitizer is at work with room for it.
Limits limits_of_this_build();

class Children {
 public:
  explicit Children(Limits limits);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // work(0) to work(count - 1), many in one child; after one that ended its child the next begin in another.
  std::vector<Outcome> run(std::size_t count, const std::function<void(std::size_t)>& work);
  Outcome run_one(const std::function<void()>& work);

 private:
  static constexpr std::size_t kMostTogether = 256;
  std::size_t run_some(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work,
                       std::vector<Outcome>& outcomes);
  [[noreturn]] void be_child(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work);

  const Limits limits_;
  int said_ = -1;  // what children write to stdout and stderr
};

}  // namespace graphrun::mutants
