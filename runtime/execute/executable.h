// A compiled program on a device: named buffers, feeds in, fetches out. Made once for a graph; new batch shapes only bind
// sizes.
//
// Threads: one at a time per Executable begins runs and waits for them; several executables may share one Variables as long as
// their runs do not overlap.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/execute/feeds.h"
#include "runtime/program/kernel.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

class DeviceVariables;

// The buffers that outlive a run, by full name: parameters, optimizer slots, states of a stream. Executables keep what they
// made of variables alone (packed matrices) from run to run: who writes a variable's elements in place calls its
// mark_written(). set() and the runs of executables need no such word.
//
// Executables on a device work on copies there, which all of them share. What they wrote comes back when it is asked for, into
// the tensor that was there; a Tensor that was handed out before shows it from then on.
class Variables {
 public:
  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  const Tensor& at(const std::string& name) const;  // throws InternalError
  void set(const std::string& name, Tensor tensor);
  void erase(const std::string& name);
  const std::map<std::string, Tensor>& all() const;

  // For executables: the tensor as it stands in the host's memory, and the copies on a device, null where there are none.
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
  std::uint64_t step = 0;        // of training: keys random numbers
  Profiler* profiler = nullptr;  // takes note of every node's time, a scan's with its body's; null costs nothing
  Watch* watch = nullptr;        // sees every result as it is made; the executable must have been made for one thread
  // Results stay where the device made them (Tensor::on_device), for runs that are fed them, and the run may continue when
  // run() returns: see Executable::finish. On the CPU it changes nothing.
  bool on_device = false;
};

class Executable {
 public:
  // Throws UserError (kInvalidGraph) where an op has no kernel for the device.
  Executable(Program program, std::shared_ptr<Variables> variables, Target target = {});
  ~Executable();

  const Program& program() const;
  Variables& variables();

  // Runs once. Feeds by input name: sizes bind the symbols; dtypes must match (FLOAT feeds may come as float32 or float64 and
  // are converted). Results in the order of program().fetches, in memory that no other tensor holds (the executable uses that
  // of the last ones again once nobody holds them). Variables are read and updated in place; a state of a stream whose buffer
  // does not exist or has another size begins as zeros. Throws UserError (kBadData): a feed missing, unknown, of a wrong rank
  // or size, an index out of range; (kNoRoom): no memory, naming bytes and the batch's shape. On a device a feed may be a
  // tensor that lies there.
  std::vector<Tensor> run(const Feeds& feeds, const RunOptions& options = {});

  // A run that has begun. Not longer than the executable lives.
  class Started {
   public:
    Started();
    Started(Started&&) noexcept;
    Started& operator=(Started&&) noexcept;
    ~Started();
    // What run() returns, and what it throws of what only the run finds, an index out of range that lay on the device. Waits
    // for this run, not for those begun after it. Once.
    std::vector<Tensor> finish();

   private:
    friend class Executable;
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };
  // run() in two halves: on a device the host continues meanwhile, and may begin further runs, which come after this one.
  // Variables have what the run wrote for whoever reads them afterwards, whatever finish() throws, and if it is never called.
  Started start(const Feeds& feeds, const RunOptions& options = {});

  // The tensor on the device that runs are on, for feeds that many of them share; on the CPU itself.
  Tensor on_device(const Tensor& tensor) const;

  // Waits for runs that left their results on the device. Throws UserError for what they found wrong: an index out of range in
  // a feed that lay there already.
  void finish();

  // Takes the memory that a run with these feeds needs, so that the largest batch fails before anything has run. Throws
  // UserError as run() does for sizes and memory.
  void reserve(const Feeds& feeds);

  // Bytes of the arena for the last batch's shape, and of the variables.
  std::size_t arena_bytes() const;
  std::size_t variable_bytes() const;
  // Bytes beside those, of what was made of variables alone and is kept from run to run.
  std::size_t packed_bytes() const;
  // How many times sizes were bound so far: a batch of a shape that is still remembered binds nothing.
  std::size_t bindings_made() const;
  // How many runs a device did from recordings of earlier ones (runtime/execute/recorded_runs.h).
  std::size_t runs_played() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Numbers for a variable's start, a pure function of seed and name.
struct VariableSpec;
Tensor initial_value(const VariableSpec& variable, std::uint64_t seed);
// Gives every parameter and slot of the program that `variables` lacks its initial value.
void initialize(const Program& program, Variables& variables, std::uint64_t seed);

}  // namespace graphrun
