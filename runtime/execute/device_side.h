// What an executable has on a device other than the CPU: an arena, room for feeds and fetches, and the copies of its variables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/backend.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/device_variables.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/execute.h"

namespace graphrun {

// A run that is to be waited for.
struct BegunRun {
  std::shared_ptr<const Binding> binding;
  std::vector<Tensor> fetched;  // where what it brings goes, which must be there as long as it may come
  IndexFault fault;
  std::shared_ptr<Backend::Arrival> arrival;
  std::size_t told = 0;  // DeviceSide::told_ when it began
};

class DeviceSide {
 public:
  DeviceSide(Backend& on, Variables& variables);

  // Where the variable lies; `written`: the run is going to write it.
  void* variable(const std::string& name, const Tensor& tensor, bool written);
  // Where feed i lies, copied there unless it is there.
  void* feed(std::size_t i, const Tensor& tensor);
  // Where the run is to leave fetch i.
  void* fetch(std::size_t i, const Tensor& tensor);

  // Runs the binding, whose slots are set. Throws what run_region throws, and UserError for an index that was out of its range
  // in runs of another binding that nobody waited for.
  void run(Binding& binding, const RunContext& context);
  // Waits for the last run, and for those of the same binding before it that nobody waited for, and brings what was fetched.
  // Throws UserError for an index that was out of its range, with the node's name and place.
  void finish(const std::vector<Tensor>& fetched);

  // The last run, to be waited for later, when others may have begun. Not longer than the device side lives.
  class UnderWay {
   public:
    // As DeviceSide::finish, of that run alone. Where one that began before it was bad, which nobody was told of yet, so is
    // this one where it ran into that one's fault.
    void finish();

   private:
    friend class DeviceSide;
    DeviceSide* side = nullptr;
    std::shared_ptr<BegunRun> run;
  };
  UnderWay finish_later(std::vector<Tensor> fetched, std::shared_ptr<const Binding> binding);

  std::size_t played() const { return played_; }  // runs, from recordings

  Backend& backend;
  DeviceMemory arena;  // as large as the largest batch so far needed

 private:
  OnDevice begin(const Binding& binding, std::uint64_t step);
  std::vector<std::uint64_t> places(const Binding& binding, const RunContext& context) const;
  void give_up();
  std::vector<Backend::ToHost> results_of(IndexFault& fault, const std::vector<Tensor>& fetched) const;
  void tell(const IndexFault& fault, const Binding& binding);
  void drop_forgotten();
  void* room(std::vector<DeviceMemory>& rooms, std::size_t i, std::size_t bytes);

  Variables& variables_;
  std::vector<DeviceMemory> feeds_, fetches_;
  DeviceMemory fault_, positions_, low_step_;
  const std::shared_ptr<RecordingBudget> budget_ = std::make_shared<RecordingBudget>();
  std::size_t played_ = 0;
  std::optional<std::uint32_t> low_step_there_;      // what low_step_ holds
  const Binding* unfinished_ = nullptr;              // of runs that nobody waits for; their fault stays until it is reported
  std::deque<std::shared_ptr<BegunRun>> under_way_;  // in their order
  std::size_t told_ = 0;                             // faults
  std::exception_ptr last_told_;
};

}  // namespace graphrun
