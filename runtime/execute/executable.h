// A compiled program on a device: named buffers, feeds in, fetches out. Made once for a graph; a new batch shape only needs a
// new binding of sizes.
//
// Threads: only one thread at a time may begin runs of an Executable and wait for them. Several executables may share one
// Variables; their runs may overlap only if neither they nor other code write a variable: see share().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/execute/feeds.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class DeviceMemory;
class DeviceVariables;

// The buffers that outlive a run, by full name: parameters, optimizer slots, states of a stream. Executables cache what they
// derive from variables (packed matrices) from run to run: code that writes a variable's elements in place must call its
// mark_written(). set() and runs of executables do so themselves.
//
// Executables on a device other than the CPU work on copies there, which all of them share: it is the same device for all
// executables with these variables. What they write is copied back on demand, into the existing tensor; a Tensor handed out
// earlier then shows it too.
class Variables {
 public:
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  const Tensor& at(const std::string& name) const;  // throws InternalError
  void set(const std::string& name, Tensor tensor);
  void erase(const std::string& name);
  const std::map<std::string, Tensor>& all() const;

  // For variables on a device. put_on_device moves the copy there to the caller's memory, where it stays until the variable is
  // set again; mark_written_on_device says that code other than a run has written the copy.
  void put_on_device(const std::string& name, const DeviceMemory& place);
  void mark_written_on_device(const std::string& name);

  // For executables: the tensor as it is in host memory, and the copies on a device, null if there are none.
  const Tensor& on_host(const std::string& name) const;
  std::shared_ptr<DeviceVariables>& on_device() { return on_device_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::shared_ptr<DeviceVariables> on_device_;
};

class Profiler;
class Watch;

struct RunOptions {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  // training step: part of the key of random numbers
  // Records the time of every node, a scan's including its body. A device then runs one node at a time. Null costs nothing.
  Profiler* profiler = nullptr;
  Watch* watch = nullptr;  // sees every result as it is computed; requires an executable made for one thread
  // On the CPU, called after each instruction of the root with the number of those that are done: see last_writes.
  std::function<void(std::size_t done)> progress = nullptr;
  // Results stay in device memory (Tensor::on_device), to be fed to other runs, and the run may still be in progress when run()
  // returns: see Executable::finish. If nothing references the results of the run before last any more, the results reuse their
  // memory. So the addresses of runs that are fed the results of the run before them recur, and these runs are replayed. No
  // effect on the CPU.
  bool on_device = false;
};

class Executable {
 public:
  // Throws UserError (kInvalidGraph) if an op has no kernel for the device, and InternalError if the variables have copies on
  // another device.
  Executable(Program program, std::shared_ptr<Variables> variables, Target target = {});
  Executable(Executable&&) noexcept;
  ~Executable();

  // Another executable of the same program, for runs on another thread at the same time (own_threads.h). It shares program,
  // variables and what is packed of variables, and has its own memory for everything else. Only if can_share(): on the CPU, of
  // a program that writes no variable and has no stream's state.
  Executable share() const;
  bool can_share() const;

  const Program& program() const;
  Variables& variables();

  // Runs once. Feeds are by input name: their sizes bind the symbols; dtypes must match (FLOAT feeds may be float32 or float64
  // and are converted). Returns the results in the order of program().fetches, in memory that no other tensor shares (the
  // executable reuses the memory of earlier results that are no longer referenced). Variables are read and updated in place; if
  // a stream's state does not exist or has another size, it starts as zeros. On a device, a feed may be a tensor in device
  // memory. Throws UserError: (kBadData) if a feed is missing, unknown, or of a wrong rank or size, or an index is out of
  // range; (kNoRoom) if out of memory, naming the bytes and the batch's shape.
  std::vector<Tensor> run(const Feeds& feeds, const RunOptions& options = {});
  // The same for feeds that the caller gives up, whatever happens: a result that is a feed with rows replaced (FetchSpec::feed)
  // lies in the feed's memory if no other tensor shares it. A cache of past steps is then not copied. On a device, for results
  // that stay there.
  std::vector<Tensor> run(Feeds&& feeds, const RunOptions& options = {});

  // A run that has begun. Must not outlive the executable.
  class Started {
   public:
    Started();
    Started(Started&&) noexcept;
    Started& operator=(Started&&) noexcept;
    ~Started();
    // Returns what run() returns. Throws the errors of run() that only the run itself can detect: an out-of-range index in
    // device memory. Waits for this run, not for later ones. Call once.
    std::vector<Tensor> finish();

   private:
    friend class Executable;
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };
  // run() in two halves: on a device, the host continues in the meantime and may begin further runs, which execute after this
  // one. Variables hold what the run wrote for anyone who reads them afterwards, whatever finish() throws, and even if it is
  // never called.
  Started start(const Feeds& feeds, const RunOptions& options = {});

  // A copy of the tensor on the device of the runs, for feeds that many runs share; on the CPU, the tensor itself.
  Tensor on_device(const Tensor& tensor) const;
  // The same for feed `name`, or zeros, in memory of an earlier tensor made for that feed if nothing references it any more:
  // runs that are fed the same addresses as earlier ones are replayed (runtime/execute/recorded_runs.h).
  Tensor feed_on_device(const std::string& name, const Tensor& tensor);
  Tensor zeros_on_device(const std::string& name, DType dtype, const Sizes& sizes);

  // Waits for runs that left their results on the device. Throws UserError for errors found by them: an out-of-range index in a
  // feed in device memory.
  void finish();

  // Allocates the memory that a run with these feeds needs, so that an oversized batch fails before anything has run. Throws
  // UserError as run() does for sizes and memory.
  void reserve(const Feeds& feeds);

  // The size in bytes of the arena for the last batch's shape, and of the variables.
  std::size_t arena_bytes() const;
  std::size_t variable_bytes() const;
  // Bytes in addition to those: data derived from variables and lasting feeds alone and kept from run to run.
  std::size_t packed_bytes() const;
  // How many times sizes were bound so far; a batch whose shape is still cached needs no binding.
  std::size_t bindings_made() const;
  // How many runs a device replayed from recordings of earlier ones (runtime/execute/recorded_runs.h).
  std::size_t runs_played() const;

 private:
  struct Impl;
  explicit Executable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The initial value of a variable, a pure function of seed and name.
struct VariableSpec;
Tensor initial_value(const VariableSpec& variable, std::uint64_t seed);
// Gives every parameter and slot of the program that `variables` lacks its initial value.
void initialize(const Program& program, Variables& variables, std::uint64_t seed);

}  // namespace graphrun
