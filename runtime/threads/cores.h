// Keeps the threads of a parallel region apart. A system that finds its cores busy of late wakes a thread where it slept last,
// or on the core of the one that woke it, and balances cores some milliseconds later: longer than most regions last. Two that
// wait for each other on one core take as long as one thread alone, and more.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace graphrun {

// The cores of the regions that one thread starts. Nobody stays bound: a thread that shares its core is moved once, and from
// there on the system may move it as any other.
class Cores {
 public:
  static Cores& of_this_thread();

  // By the thread that starts a region, before it wakes the others. It goes back to its core of the region before where it has
  // come to one that another used then, who would be woken there.
  void begin();
  // By each of the others, in the region: goes to a core that nobody has where another has this one.
  void enter();

 private:
  static constexpr int kMost = 1024;  // cores beyond are nobody's
  bool is_taken(int core) const;
  bool take(int core);  // whether it was nobody's

  int own_ = -1;  // of the thread that starts the regions
  std::array<std::atomic<std::uint64_t>, kMost / 64> taken_{};
};

}  // namespace graphrun
