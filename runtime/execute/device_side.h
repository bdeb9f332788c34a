// An executable's state on a device other than the CPU: an arena, memory for feeds and fetches, and the copies of its
// variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/execute/binding.h"
#include "runtime/execute/device_variables.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/execute.h"
#include "runtime/tensor/backend.h"
#include "runtime/tensor/result_memory.h"

namespace graphrun {

// A run that has begun and has not been waited for yet.
struct BegunRun {
  std::shared_ptr<const Binding> binding;
  std::vector<Tensor> fetched;  // destinations of its results, which must live until they have arrived
  IndexFault fault;
  std::shared_ptr<Backend::Arrival> arrival;
  std::size_t reported = 0;  // DeviceSide::reported_ when the run began
};

class DeviceSide {
 public:
  DeviceSide(Backend& on, Variables& variables);

  // The variable's address; `written`: the run is going to write it.
  void* variable(const std::string& name, const Tensor& tensor, bool written);
  // The address of feed i, copied to the device unless it is already there.
  void* feed(std::size_t i, const Tensor& tensor);
  // The address where the run writes fetch i.
  void* fetch(std::size_t i, const Tensor& tensor);

  // Runs the binding, whose slots are set. Throws whatever run_region throws, and UserError for an out-of-range index in
  // earlier runs of another binding that were never waited for.
  void run(Binding& binding, const RunContext& context);
  // Waits for the last run, and for earlier runs of the same binding that were not waited for, and copies the fetched tensors
  // to the host. Throws UserError for an out-of-range index, with the node's name and location.
  void finish(const std::vector<Tensor>& fetched);

  // The last run, to be waited for later, possibly after other runs have begun. Must not outlive the device side.
  class UnderWay {
   public:
    // Like DeviceSide::finish, for this run alone. Also throws the error for a fault of an earlier run that had not been
    // reported when this run ended on the device.
    void finish();

   private:
    friend class DeviceSide;
    DeviceSide* side = nullptr;
    std::shared_ptr<BegunRun> run;
  };
  UnderWay finish_later(std::vector<Tensor> fetched, std::shared_ptr<const Binding> binding);

  std::size_t played() const { return played_; }  // the number of runs replayed from recordings

  Backend& backend;
  DeviceMemory arena;                                         // large enough for the largest batch so far
  DeviceResultMemory results;                                 // those that stay on the device
  std::map<std::string, DeviceResultMemory> feeds_on_device;  // by name; see Executable::feed_on_device

 private:
  OnDevice begin(const Binding& binding, std::uint64_t step);
  std::vector<std::uint64_t> places(const Binding& binding, const RunContext& context) const;
  void give_up();
  std::vector<Backend::ToHost> results_of(IndexFault& fault, const std::vector<Tensor>& fetched) const;
  void report(const IndexFault& fault, const Binding& binding);
  void drop_forgotten();
  void* room(std::vector<DeviceMemory>& rooms, std::size_t i, std::size_t bytes);

  Variables& variables_;
  std::vector<DeviceMemory> feeds_, fetches_;
  DeviceMemory fault_, positions_, low_step_;
  const std::shared_ptr<RecordingBudget> budget_ = std::make_shared<RecordingBudget>();
  std::size_t played_ = 0;
  std::optional<std::uint32_t> low_step_there_;  // the current contents of low_step_
  const Binding* unfinished_ = nullptr;  // binding of the runs not yet waited for; their fault stays until it is reported
  std::deque<std::shared_ptr<BegunRun>> under_way_;  // oldest first
  std::size_t reported_ = 0;                         // the number of faults reported
  std::exception_ptr last_reported_;
};

}  // namespace graphrun
