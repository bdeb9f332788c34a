#include "runtime/execute/device_side.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

std::int64_t launches(const BoundRegion& region) {
  std::int64_t count = 0;
  for (const BoundInstruction& bound : region.instructions)
    count += bound.scan && bound.scan->plan.launch() == nullptr ? bound.scan->steps * launches(bound.scan->body) : 1;
  return count;
}

}  // namespace

DeviceSide::DeviceSide(Backend& on, Variables& variables)
    : backend(on), results(on), variables_(variables), fault_(on, sizeof(IndexFault)), low_step_(on, sizeof(std::uint32_t)) {
  if (!variables.on_device()) variables.on_device() = std::make_shared<DeviceVariables>(on);
  GRAPHRUN_CHECK(variables.on_device()->is_on(on), "variables with copies on two devices");
  backend.clear(fault_.raw(), fault_.bytes());
}

void* DeviceSide::variable(const std::string& name, const Tensor& tensor, bool written) {
  DeviceVariables& copies = *variables_.on_device();
  void* const memory = copies.give(name, tensor);
  if (written) copies.will_write(name);
  return memory;
}

void* DeviceSide::room(std::vector<DeviceMemory>& rooms, std::size_t i, std::size_t bytes) {
  if (rooms.size() <= i) rooms.resize(i + 1);
  rooms[i].reserve(backend, bytes);
  return rooms[i].raw();
}

void* DeviceSide::feed(std::size_t i, const Tensor& tensor) {
  if (tensor.on_device()) return tensor.device_memory();
  void* const memory = room(feeds_, i, tensor.bytes());
  backend.to_device(memory, tensor.raw(), tensor.bytes());
  return memory;
}

void* DeviceSide::fetch(std::size_t i, const Tensor& tensor) {
  return tensor.on_device() ? tensor.device_memory() : room(fetches_, i, tensor.bytes());
}

// Every address, apart from the binding's own, that a run's launches contain.
std::vector<std::uint64_t> DeviceSide::places(const Binding& binding, const RunContext& context) const {
  const auto at = [](const void* memory) { return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory)); };
  std::vector<std::uint64_t> all = {context.seed, context.step >> 32, at(binding.base), at(positions_.raw())};
  const BoundRegion& root = binding.root;
  for (std::size_t slot = 0; slot + 1 < root.slot_begin.size(); ++slot) {
    if (root.slot_begin[slot] < root.slot_begin[slot + 1]) all.push_back(at(*root.slot_addresses[root.slot_begin[slot]]));
  }
  return all;
}

void DeviceSide::run(Binding& binding, const RunContext& context) {
  backend.use();
  const OnDevice device = begin(binding, context.step);
  RunContext on_device = context;
  on_device.device = &device;
  const auto run = [&] { run_region(binding.root, on_device); };
  try {
    if (context.profiler != nullptr) return run();
    if (!binding.recorded) binding.recorded = std::make_unique<RecordedRuns>(launches(binding.root), budget_);
    played_ += binding.recorded->run(backend, places(binding, context), run);
  } catch (...) {
    give_up();
    throw;
  }
}

OnDevice DeviceSide::begin(const Binding& binding, std::uint64_t step) {
  drop_forgotten();
  if (unfinished_ != &binding) finish({});
  unfinished_ = &binding;
  const auto steps = static_cast<std::size_t>(binding.most_steps);
  if (positions_.bytes() < steps * sizeof(std::int32_t)) {
    std::vector<std::int32_t> numbers(steps);
    std::iota(numbers.begin(), numbers.end(), 0);
    positions_ = DeviceMemory(backend, steps * sizeof(std::int32_t));
    backend.to_device(positions_.raw(), numbers.data(), positions_.bytes());
  }
  if (const auto low_step = static_cast<std::uint32_t>(step); low_step != low_step_there_) {
    backend.to_device(low_step_.raw(), &low_step, sizeof low_step);
    low_step_there_ = low_step;
  }
  return {&backend, static_cast<IndexFault*>(fault_.raw()), static_cast<std::int32_t*>(positions_.raw()),
          static_cast<const std::uint32_t*>(low_step_.raw())};
}

void DeviceSide::give_up() {
  unfinished_ = nullptr;
  backend.clear(fault_.raw(), fault_.bytes());
}

std::vector<Backend::ToHost> DeviceSide::results_of(IndexFault& fault, const std::vector<Tensor>& fetched) const {
  std::vector<Backend::ToHost> pieces = {{&fault, fault_.raw(), sizeof fault}};
  for (std::size_t i = 0; i < fetched.size(); ++i) pieces.push_back({fetched[i].raw(), fetches_[i].raw(), fetched[i].bytes()});
  return pieces;
}

void DeviceSide::finish(const std::vector<Tensor>& fetched) {
  if (unfinished_ == nullptr) return;
  const Binding& binding = *std::exchange(unfinished_, nullptr);
  IndexFault fault;
  backend.to_host(results_of(fault, fetched));
  if (fault.node != 0) report(fault, binding);
}

// The fault stays in the device's memory until it is reported, and every run copies what it finds there. So it belongs to the
// earliest run whose copy contains it.
void DeviceSide::report(const IndexFault& fault, const Binding& binding) {
  const Binding* of = &binding;
  for (auto run = under_way_.rbegin(); run != under_way_.rend(); ++run) {
    (*run)->arrival->wait();
    if ((*run)->fault.node != 0 && (*run)->reported == reported_) of = (*run)->binding.get();
  }
  backend.clear(fault_.raw(), fault_.bytes());
  try {
    const BoundInstruction& bound = *of->numbered.at(static_cast<std::size_t>(fault.node) - 1);
    try {
      GRAPHRUN_CHECK(bound.kernel.refuse != nullptr, "a kernel that checks no index found a bad one");
      bound.kernel.refuse(fault);
    } catch (...) {
      rethrow_from(*bound.source);
    }
  } catch (...) {
    last_reported_ = std::current_exception();
    ++reported_;
    throw;
  }
}

// Drops runs that will never be waited for.
void DeviceSide::drop_forgotten() {
  for (auto run = under_way_.begin(); run != under_way_.end();) {
    if (run->use_count() > 1) {
      ++run;
      continue;
    }
    (*run)->arrival->wait();
    try {
      if ((*run)->fault.node != 0 && (*run)->reported == reported_) report((*run)->fault, *(*run)->binding);
    } catch (const UserError&) {  // reported by the runs that encountered it
    }
    run = under_way_.erase(run);
  }
}

DeviceSide::UnderWay DeviceSide::finish_later(std::vector<Tensor> fetched, std::shared_ptr<const Binding> binding) {
  unfinished_ = nullptr;
  auto run = std::make_shared<BegunRun>();
  run->binding = std::move(binding);
  run->fetched = std::move(fetched);
  run->reported = reported_;
  run->arrival = backend.to_host_later(results_of(run->fault, run->fetched));
  under_way_.push_back(run);
  UnderWay under_way;
  under_way.side = this;
  under_way.run = std::move(run);
  return under_way;
}

void DeviceSide::UnderWay::finish() {
  const std::shared_ptr<BegunRun> done = std::move(run);
  done->arrival->wait();
  struct Leave {  // the run stays in flight until its fault is reported
    std::deque<std::shared_ptr<BegunRun>>& all;
    const std::shared_ptr<BegunRun>& one;
    ~Leave() { all.erase(std::find(all.begin(), all.end(), one)); }
  } leave{side->under_way_, done};
  if (done->fault.node == 0) return;
  if (done->reported != side->reported_) std::rethrow_exception(side->last_reported_);
  side->report(done->fault, *done->binding);
}

}  // namespace graphrun
