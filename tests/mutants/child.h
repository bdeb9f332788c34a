// Runs work in forked children, under limits, and reports how each piece ended. The parent must be single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace graphrun::mutants {

enum class Ended : std::uint8_t {
  kNot,
  kAccepted,   // it returned
  kRefused,    // a UserError whose messages all have a code and a text
  kException,  // any other exception, or a UserError without them
  kSignal,
  kTime,
  kMemory,
};

struct Outcome {
  Ended ended = Ended::kNot;
  std::string text;        // for kRefused, the first code; else the output, with the call stack
  std::string where;       // for all but the first two: the same for the same cause
  std::size_t before = 0;  // pieces that the same child had already run
  bool is_find() const { return ended != Ended::kAccepted && ended != Ended::kRefused; }
};

struct Limits {
  double seconds = 2;                        // of processor time, per piece
  std::size_t bytes = std::size_t{1} << 30;  // resident
};
// The limits as given, or with room for a sanitizer if one is active.
Limits limits_of_this_build();

class Children {
 public:
  explicit Children(Limits limits);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Runs work(0) to work(count - 1), many in one child; after one that ends its child, the next ones run in a new child.
  std::vector<Outcome> run(std::size_t count, const std::function<void(std::size_t)>& work);
  Outcome run_one(const std::function<void()>& work);

 private:
  static constexpr std::size_t kMostTogether = 256;
  std::size_t run_some(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work,
                       std::vector<Outcome>& outcomes);
  [[noreturn]] void be_child(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work);

  const Limits limits_;
  int said_ = -1;  // file descriptor for the children's stdout and stderr
};

}  // namespace graphrun::mutants
