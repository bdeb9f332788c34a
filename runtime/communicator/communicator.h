// Processes that work together: which there are, messages between them, and what happens when one of them ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace graphrun {

// A launcher has started this process, as its environment says.
struct Launcher {
  std::string name;    // "mpirun"
  std::string plugin;  // "openmpi", the end of the plug-in's name
  int processes = 0;   // 0: the environment does not say
};
// The launcher of this process; its name is empty where there is none, or where it started one process.
Launcher this_launcher();

// Another process has ended, or has failed: so does this one.
class PeerEnd : public std::runtime_error {
 public:
  PeerEnd(int rank, int code, std::string text) : std::runtime_error(std::move(text)), rank_(rank), code_(code) {}
  int rank() const { return rank_; }  // whose end it is
  // The exit code. what() is what process 0 has still to say; empty on every other process.
  int code() const { return code_; }

 private:
  int rank_, code_;
};

// A part of a message: so many bytes to or from a process.
struct Transfer {
  int peer = 0;
  const void* send = nullptr;  // exactly one of the two is given
  void* receive = nullptr;
  std::size_t bytes = 0;
};

// One thread makes every call of the MPI library, so that messages proceed while the caller computes. That thread also
// exchanges signs of life with process 0: a process that is silent for too long is gone. A time in which this process itself
// was stopped does not count.
//
// Threads: one thread at a time may call it. All processes call gather(), broadcast() and start() in the same order.
class Communicator {
 public:
  // Joins the processes that `launcher` started. `silence`: seconds after which a process counts as gone. Throws UserError
  // (kUsage): E0530 no-mpi where the plug-in or its library does not load, E0531 foreign-launcher where the library does not
  // see the launcher's processes.
  Communicator(const Launcher& launcher, double silence);
  // Leaves the other processes, which do the same: waits for them, unless one has ended.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  const std::string& library() const;  // "Open MPI 4.1.4"
  // Exchanges names of machines and numbers of processes; before it, machines are not known, and only silence tells that a
  // process is gone. Call it first. Throws PeerEnd, as all functions below do.
  void introduce();
  const std::string& machine(int rank) const;  // the name of a process's machine
  std::string name(int rank) const;            // "process 3 on 'b'"

  // The bytes of every process, by rank.
  std::vector<std::string> gather(std::string_view own);
  // The same where every process has equally many: `all` receives them, by rank.
  void share(const void* own, std::size_t bytes, void* all);
  // The bytes of process 0; those of the others are not read.
  std::string broadcast(std::string_view own);

  // Begins transfers, whose memory must stay until wait() returns for their number.
  std::uint64_t start(std::vector<Transfer> transfers);
  void wait(std::uint64_t number);
  // Seconds that calls above have waited.
  double seconds_waited() const;

  // Process 0 ends with this exit code: tells all others, which end with it too.
  void end_all(int code);
  // This process, not 0, has failed: process 0 prints `text`. Returns the code with which all end, once process 0 says so.
  int report_failure(int code, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The sum of float32 numbers over processes, added in the order of ranks, so that its bits are those of one process that adds
// the same numbers in that order. Each process owns 1/N of the elements: it receives these from all others and adds them.
class OrderedSum {
 public:
  // `count` elements. `communicator` outlives it.
  OrderedSum(Communicator& communicator, std::size_t count);

  // Sets the part of the sum that this process owns from `numbers`, which hold all of it.
  void begin_from(std::span<const float> numbers);
  // Adds the numbers of processes `first` to `last`, in this order; of any other process they are not read. `begins`: the sum
  // consists of these alone. `all`: then every process's `numbers` receive the whole sum. Every process calls it, with the same
  // arguments but the numbers. Throws PeerEnd.
  void add(std::span<float> numbers, int first, int last, bool begins, bool all);

 private:
  struct Elements {
    std::size_t begin = 0, end = 0;
    std::size_t size() const { return end - begin; }
  };
  Elements slice(int rank) const;
  Elements piece(int rank, std::size_t number) const;
  void add_piece(std::span<const float> numbers, std::size_t number, int first, int last, bool begins);

  Communicator& communicator_;
  const std::size_t count_;
  std::size_t pieces_ = 0;       // of a slice
  std::vector<float> sum_;       // this process's slice
  std::vector<float> received_;  // the same slice of every other process, by rank
};

}  // namespace graphrun
