// Communication between the processes of one run: messages, sums, and the end of a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/tensor/backend.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// The launcher that started this process, according to the environment.
struct Launcher {
  std::string name;    // "mpirun"
  std::string plugin;  // "openmpi", the end of the plug-in's name
  int processes = 0;   // 0: unknown
};
// The launcher of this process. Its name is empty if there is no launcher, or if it started only one process.
Launcher this_launcher();

// Another process has ended or failed, so this process must end too.
class PeerEnd : public std::runtime_error {
 public:
  PeerEnd(int rank, int code, std::string text) : std::runtime_error(std::move(text)), rank_(rank), code_(code) {}
  int rank() const { return rank_; }  // of the process that ended first
  // The exit code for all processes. what() is the message that this process must print; empty if another one prints it.
  int code() const { return code_; }

 private:
  int rank_, code_;
};

// A message to or from another process.
struct Transfer {
  int peer = 0;
  const void* send = nullptr;  // exactly one of `send` and `receive` is set
  void* receive = nullptr;
  std::size_t bytes = 0;  // of a receive: the most, up to 1 GiB; beyond, the exact number
  // From 0, which the communicator's own functions use. Messages between two processes with the same tag arrive in the order in
  // which they were started.
  int tag = 0;
};

// Transfers, and what follows them.
struct Stage {
  std::vector<Transfer> transfers;
  // Called on the communication thread when all of the transfers are complete; returns the next stage. Null: there is none.
  // It must return within milliseconds, because this thread makes no progress meanwhile.
  std::function<Stage()> then;
};

// A thread of its own makes every call of the MPI library, so that messages proceed while the caller computes. This thread
// also exchanges heartbeats with process 0: a process that sends none for too long counts as lost. Time during which this
// process itself was stopped is not counted.
//
// Threads: one thread at a time may call a communicator. All processes must call its functions in the same order.
class Communicator {
 public:
  // Joins the processes that `launcher` started. `silence`: seconds without a heartbeat after which a process counts as lost.
  // Throws UserError (kUsage): E0530 no-mpi if the plug-in or its library does not load, E0531 foreign-launcher if the library
  // does not find the processes of the launcher; (kRunFailed) E0532 lost-process if not all of them start within `silence`.
  Communicator(const Launcher& launcher, double silence);
  // Waits until all other processes do the same, unless one of them has ended.
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const;
  int size() const;
  const std::string& library() const;  // "Open MPI 4.1.4"
  // Exchanges the names of machines and the process ids; call it first. Before it, the machines of other processes are unknown,
  // and a process counts as lost only by its missing heartbeat. Throws PeerEnd, as all functions below do.
  void introduce();
  const std::string& machine(int rank) const;  // the host name of a process's machine
  std::string name(int rank) const;            // "process 3 on 'b'"
  int processes_here() const;                  // the number of processes on this machine, including this one
  int place_here() const;                      // how many of them have lower ranks

  // Returns the bytes that each process passed, by rank.
  std::vector<std::string> gather(std::string_view own);
  // The same, but only process 0 receives them; the others get empty ones.
  std::vector<std::string> collect(std::string_view own);
  // Like gather() if each process passes the same number of bytes; `all` has room for those of all processes.
  void share(const void* own, std::size_t bytes, void* all);
  // Returns the bytes that process 0 passed; those of the others are ignored.
  std::string broadcast(std::string_view own);

  // Starts a stage. Its memory, and that of the stages that follow, must remain valid until wait() returns for the number that
  // start() returned. If wait() throws, transfers may still be in progress until the communicator is destroyed: what their
  // stages own, such as a shared_ptr that `then` contains, is kept until then.
  std::uint64_t start(Stage stage);
  // Waits for the stage and all that follow it. Throws what a `then` has thrown.
  void wait(std::uint64_t number);
  // To be called while waiting for something other than this object: throws PeerEnd if another process has ended or failed.
  void check() const;
  // The total time in seconds that the functions above have waited.
  double seconds_waited() const;

  // For process 0, which ends with this exit code: tells all other processes to end with it too.
  void end_all(int code);
  // For any other process, which has failed: process 0 prints its name and `text`. Waits for process 0 and returns the exit
  // code for all processes.
  int report_failure(int code, const std::string& text);

 private:
  struct Impl;
  std::vector<std::string> exchange(std::string_view own, bool only_first);

  std::unique_ptr<Impl> impl_;
};

class DeviceGroup;

// Sums of float32 arrays over processes. Arrays are added in the order of ranks, so the result has the bits of one process
// that adds the same arrays in this order. An array is divided into buckets, and each process owns 1/N of every bucket: it
// receives these elements from all others and adds them.
//
// Arrays in host memory: the communication thread does all of this, bucket by bucket, while the caller still computes later
// elements. Blocks that consist of zeros are not transferred, such as the rows of an embedding whose words do not occur in a
// batch. Arrays on devices: finish() does all of it, and everything is transferred.
class OrderedSum {
 public:
  static constexpr std::size_t kBlock = 64;  // elements
  // `count`: elements of an array. `unit`: a process owns whole units of this many elements, a power of 2 from kBlock; the last
  // unit may have fewer. `communicator` must outlive it.
  OrderedSum(Communicator& communicator, std::size_t count, std::size_t unit = kBlock);
  // Of arrays on devices. `group` must outlive it.
  OrderedSum(DeviceGroup& group, std::size_t count);

  // This process's array, float32 [count], zeros at first. The elements that ready() has announced must not be written until
  // finish(). numbers() is for arrays in host memory, numbers_on_device() for arrays on devices; otherwise, they throw
  // InternalError.
  const Tensor& numbers() const;
  const DeviceMemory& numbers_on_device() const;

  // Sets the sum to the array, of which each process must have the elements that it owns. Not between begin() and finish().
  void begin_from_numbers();

  // Where the sum is after an addition. kNowhere: the array is unchanged, and the next addition continues. kOwners: the array
  // contains the sum of the elements that the process owns; the others are unchanged. kAll: the array contains the sum.
  enum class Result : std::uint8_t { kNowhere, kOwners, kAll };
  struct Round {
    int first = 0, last = 0;  // the arrays of these processes are added, in this order; those of others are ignored
    bool begins = true;       // the sum starts with the array of process `first`
    Result result = Result::kAll;
    // On devices, whether their library may choose the order of addition; the last bits then depend on the number of processes.
    // Only with kAll, a sum that begins, and the arrays of all processes.
    bool any_order = false;
  };
  // Begins an addition. All processes must call it with the same argument, then ready(), the last time with `count`, then
  // finish().
  void begin(const Round& round);
  // The first `end` elements of the array have their values.
  void ready(std::size_t end);
  // Waits for the addition. Throws PeerEnd.
  void finish();

  // In host memory only. The elements that a process owns, as ranges [begin, end) in ascending order.
  std::vector<std::pair<std::size_t, std::size_t>> owned(int rank) const;
  // In host memory only. Replaces the elements of an array with `count` elements by those in the arrays of their owners. All
  // processes call it; not between begin() and finish(). Throws PeerEnd.
  void hand_out(const Tensor& array);

 private:
  struct Impl;
  struct OnHost;
  struct OnDevice;
  std::shared_ptr<Impl> impl_;  // shared with transfers in progress
};

}  // namespace graphrun
