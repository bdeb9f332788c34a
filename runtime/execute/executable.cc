#include "runtime/execute/executable.h"

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/device_side.h"
#include "runtime/execute/device_variables.h"
#include "runtime/execute/execute.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/execute/profiler.h"
#include "runtime/tensor/result_memory.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

constexpr std::size_t kBindingsKept = 64;  // the number of batch shapes whose bindings are cached

// All symbols that a run needs values for.
std::vector<Symbol> symbols_of(const Program& program) {
  std::set<Symbol> symbols;
  const auto add_dim = [&](const Dim& dim) {
    for (Symbol s : dim.symbols()) symbols.insert(s);
  };
  const auto add = [&](const Shape& shape) { std::for_each(shape.begin(), shape.end(), add_dim); };
  for (const VariableSpec& variable : program.variables) add(variable.shape);
  for (const FeedSpec& feed : program.feeds) {
    add(feed.shape);
    if (feed.below) add_dim(*feed.below);
  }
  for (const Region& region : program.regions) {
    for (const ValueSpec& value : region.values) add(value.shape);
    for (const Instruction& instruction : region.instructions) add_dim(instruction.scan.steps);
  }
  return {symbols.begin(), symbols.end()};
}

void check_kernels(const Program& program, const Device& device) {
  std::vector<Diagnostic> mistakes;
  for (const Region& region : program.regions) {
    for (const Instruction& instruction : region.instructions) {
      if (instruction.kind != Instruction::Kind::kKernel) continue;
      if (device.kernels().find(instruction.op) != nullptr) continue;
      mistakes.push_back({Severity::kError,
                          "E0629 no-kernel",
                          instruction.at,
                          "'" + instruction.name + "': op '" + instruction.op + "' has no kernel for " +
                              (device.is_cpu() ? "the CPU" : "CUDA"),
                          {}});
    }
  }
  if (!mistakes.empty()) throw UserError(ExitCode::kInvalidGraph, std::move(mistakes));
}

std::string listed(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [symbol, value] : symbols) {
    text += (text.empty() ? "" : ", ") + symbol.name() + " = " + std::to_string(value);
  }
  return text.empty() ? "no sizes" : text;
}

}  // namespace

const Tensor& Variables::on_host(const std::string& name) const {
  const auto it = tensors_.find(name);
  GRAPHRUN_CHECK(it != tensors_.end(), "no variable '" + name + "'");
  return it->second;
}

const Tensor& Variables::at(const std::string& name) const {
  const Tensor& tensor = on_host(name);
  if (on_device_) on_device_->bring_back(name, tensor);
  return tensor;
}

void Variables::set(const std::string& name, Tensor tensor) {
  if (on_device_) on_device_->forget(name);
  tensors_[name] = std::move(tensor);
}

void Variables::erase(const std::string& name) {
  if (on_device_) on_device_->forget(name);
  tensors_.erase(name);
}

void Variables::put_on_device(const std::string& name, const DeviceMemory& place) {
  GRAPHRUN_CHECK(on_device_ != nullptr, "variables without copies on a device");
  on_device_->put(name, on_host(name), place);
}

void Variables::mark_written_on_device(const std::string& name) { on_device_->will_write(name); }

const std::map<std::string, Tensor>& Variables::all() const {
  if (on_device_) {
    for (const auto& [name, tensor] : tensors_) on_device_->bring_back(name, tensor);
  }
  return tensors_;
}

struct Executable::Impl {
  Impl(std::shared_ptr<const Program> program_of, std::shared_ptr<Variables> variables_of,
       std::shared_ptr<PackedWeightsStore> packed_of, Target on)
      : shared_program(std::move(program_of)),
        variables(std::move(variables_of)),
        shared_packed(std::move(packed_of)),
        target(on) {
    if (!on.device->is_cpu()) device_side = std::make_unique<DeviceSide>(on.device->backend(), *variables);
  }

  const std::shared_ptr<Binding>& binding_for(const SymbolValues& values);
  void make_room(Binding& binding);
  void make_arena(std::size_t bytes);
  const void* arena_memory() const { return device_side ? device_side->arena.raw() : arena.raw(); }
  void give_variables(Binding& binding);
  const Tensor& variable_memory(const VariableSpec& spec, const Sizes& sizes);
  void give_feeds(BoundRegion& root, const Feeds& feeds);
  bool may_be_result(const Tensor& feed, bool on_device) const;
  std::vector<Tensor> give_fetches(Binding& binding, bool on_device, Feeds* given_up);
  Tensor memory_for_feed(const std::string& name, DType dtype, const Sizes& sizes);
  SymbolValues sizes_of(const Feeds& feeds) const;
  bool sizes_stay(const Feeds& feeds) const;
  const std::shared_ptr<Binding>& checked_binding(const Feeds& feeds);
  void reserve(const Feeds& feeds);
  // `given_up`: the feeds, if the run may overwrite them; else null.
  Started start(const Feeds& feeds, const RunOptions& options, Feeds* given_up);

  const std::shared_ptr<const Program> shared_program;
  const Program& program = *shared_program;
  const std::shared_ptr<Variables> variables;
  const std::shared_ptr<PackedWeightsStore> shared_packed;
  PackedWeightsStore& packed = *shared_packed;
  PackedWeightsStore packed_feeds{program};
  const Target target;
  const std::vector<Symbol> symbols = symbols_of(program);

  std::list<std::shared_ptr<Binding>> recent;  // most recently used first
  std::map<SymbolValues, std::list<std::shared_ptr<Binding>>::iterator> bindings;
  std::size_t bindings_made = 0;
  struct Fed {
    DType dtype;
    bool on_device;
    Sizes sizes;
  };
  std::vector<Fed> last_fed;  // feeds of the first binding of `recent`; empty: not known
  Tensor arena;               // large enough for the largest batch so far
  // Of variables and feeds, in this run.
  std::vector<std::uint64_t> versions = std::vector<std::uint64_t>(program.variables.size() + program.feeds.size());
  std::vector<const void*> memory_at = std::vector<const void*>(versions.size());
  ResultMemory results;
  std::vector<Tensor> converted;            // feeds converted to the program's dtype, for the duration of a run
  std::unique_ptr<DeviceSide> device_side;  // null: on the CPU
};

// The binding for these sizes, from the cache or made now.
const std::shared_ptr<Binding>& Executable::Impl::binding_for(const SymbolValues& values) {
  last_fed.clear();
  if (const auto it = bindings.find(values); it != bindings.end()) {
    recent.splice(recent.begin(), recent, it->second);
    return recent.front();
  }
  recent.push_front(bind(program, values, target, packed, &packed_feeds));
  bindings.emplace(values, recent.begin());
  ++bindings_made;
  if (recent.size() > kBindingsKept) {
    bindings.erase(recent.back()->symbols);
    recent.pop_back();
    std::set<const PackedWeights*> used;
    for (const auto& binding : recent) used.insert(binding->packed_feeds.begin(), binding->packed_feeds.end());
    packed_feeds.keep_only(used);
  }
  return recent.front();
}

void Executable::Impl::make_room(Binding& binding) {
  const std::int64_t bytes = std::max<std::int64_t>(binding.layout.bytes, 1);
  const std::int64_t so_far = device_side     ? static_cast<std::int64_t>(device_side->arena.bytes())
                              : arena.empty() ? 0
                                              : arena.count();
  if (so_far < bytes) {
    try {
      make_arena(static_cast<std::size_t>(bytes));
    } catch (const UserError&) {
      throw UserError(
          ExitCode::kNoRoom, "E0503 out-of-memory",
          "no memory for " + std::to_string(bytes) + " bytes, which a batch of " + listed(binding.symbols) + " needs",
          {"help: use a smaller batch or smaller sizes, or a machine with more memory"});
    }
  }
  if (void* const base = const_cast<void*>(arena_memory()); binding.base != base) rebase(binding, base);
}

// The old arena is freed first, because both together may not fit.
void Executable::Impl::make_arena(std::size_t bytes) {
  if (device_side) {
    device_side->arena = DeviceMemory();
    device_side->arena = DeviceMemory(device_side->backend, bytes);
  } else {
    arena = Tensor();
    arena = Tensor(DType::kBool, {static_cast<std::int64_t>(bytes)});
  }
}

// The variable's buffer. If a stream's state does not exist, or has another batch size, it starts as zeros.
const Tensor& Executable::Impl::variable_memory(const VariableSpec& spec, const Sizes& sizes) {
  const bool is_state = spec.kind == VariableSpec::Kind::kState;
  if (is_state && (!variables->has(spec.name) || variables->on_host(spec.name).sizes() != sizes)) {
    variables->set(spec.name, Tensor(spec.dtype, sizes));
  }
  if (!variables->has(spec.name)) {
    throw UserError(ExitCode::kBadData, "E0627 missing-variable",
                    "'" + spec.name + "' has no value: " + std::string(name_of(spec.dtype)) + str(spec.shape) + " expected");
  }
  const Tensor& tensor = device_side ? variables->on_host(spec.name) : variables->at(spec.name);
  if (tensor.dtype() != spec.dtype || tensor.sizes() != sizes) {
    throw UserError(ExitCode::kBadData, "E0628 variable-mismatch",
                    "'" + spec.name + "' is " + std::string(name_of(tensor.dtype())) + str(tensor.sizes()) + ", " +
                        std::string(name_of(spec.dtype)) + str(sizes) + " expected");
  }
  return tensor;
}

// Gives the binding the variables' addresses.
void Executable::Impl::give_variables(Binding& binding) {
  for (std::size_t i = 0; i < program.variables.size(); ++i) {
    const Tensor& tensor = variable_memory(program.variables[i], binding.variable_sizes[i]);
    if (device_side) {
      binding.root.set_slot(i, device_side->variable(program.variables[i].name, tensor, packed.written()[i]));
      continue;
    }
    if (packed.written()[i]) tensor.mark_written();
    versions[i] = tensor.version();
    memory_at[i] = tensor.raw();
    binding.root.set_slot(i, tensor.raw());
  }
}

void Executable::Impl::give_feeds(BoundRegion& root, const Feeds& feeds) {
  converted.clear();
  for (std::size_t i = 0; i < program.feeds.size(); ++i) {
    const FeedSpec& spec = program.feeds[i];
    const Tensor* tensor = &feeds.at(spec.name);
    if (tensor->dtype() != spec.dtype) {
      converted.push_back(tensor->converted(spec.dtype));
      tensor = &converted.back();
    }
    const std::size_t slot = program.variables.size() + i;
    root.set_slot(slot, device_side ? device_side->feed(i, *tensor) : tensor->raw());
    if (spec.lasting && !device_side) versions[slot] = tensor->version(), memory_at[slot] = tensor->raw();
  }
}

// Whether a run may write a result into a feed's memory, because no other tensor shares it.
bool Executable::Impl::may_be_result(const Tensor& feed, bool on_device) const {
  if (device_side) return on_device && !feed.empty() && feed.on_device() && !feed.is_shared();
  return feed.has_room_for(feed.dtype(), feed.sizes());
}

std::vector<Tensor> Executable::Impl::give_fetches(Binding& binding, bool on_device, Feeds* given_up) {
  std::vector<Tensor> fetched;
  fetched.reserve(program.fetches.size());
  std::vector<DeviceResultMemory::Result> left;  // on the device
  for (const FetchSpec& spec : program.fetches) {
    const std::size_t i = fetched.size();
    const Sizes& sizes = binding.fetch_sizes[i];
    Tensor* const fed =
        given_up == nullptr || spec.feed < 0 ? nullptr : &given_up->at(program.feeds[static_cast<std::size_t>(spec.feed)].name);
    if (fed != nullptr && fed->dtype() == spec.dtype && may_be_result(*fed, on_device)) {
      if (!device_side) fed->mark_written();
      fetched.push_back(std::move(*fed));
      *fed = Tensor();  // not another result too
    } else if (on_device && device_side) {
      left.push_back({i, spec.dtype, sizes});
      fetched.emplace_back();
    } else {
      fetched.push_back(results.take(i, spec.dtype, sizes));
    }
  }
  if (!left.empty()) {
    std::vector<Tensor> taken = device_side->results.take(left);
    for (std::size_t k = 0; k < left.size(); ++k) fetched[left[k].i] = std::move(taken[k]);
  }
  for (std::size_t i = 0; i < fetched.size(); ++i) {
    binding.root.set_slot(program.variables.size() + program.feeds.size() + i,
                          device_side ? device_side->fetch(i, fetched[i]) : fetched[i].raw());
  }
  return fetched;
}

SymbolValues Executable::Impl::sizes_of(const Feeds& feeds) const {
  SymbolValues values = bind_sizes(program, feeds);
  for (Symbol symbol : symbols) {
    if (values.count(symbol) != 0) continue;
    throw UserError(ExitCode::kBadData, "E0625 unknown-size", "no feed determines the size '" + symbol.name() + "'");
  }
  return values;
}

// Whether the feeds have the sizes of the last run, for which its binding is right.
bool Executable::Impl::sizes_stay(const Feeds& feeds) const {
  if (last_fed.empty() || feeds.size() != last_fed.size()) return false;
  for (std::size_t i = 0; i < last_fed.size(); ++i) {
    const auto feed = feeds.find(program.feeds[i].name);
    if (feed == feeds.end() || feed->second.empty()) return false;
    const Tensor& tensor = feed->second;
    const Fed& last = last_fed[i];
    if (tensor.dtype() != last.dtype || tensor.on_device() != last.on_device || tensor.sizes() != last.sizes) return false;
  }
  return true;
}

// The binding for a run with these feeds. Solving for sizes takes long compared with a step of generation that is replayed, and
// consecutive runs mostly have the same sizes.
const std::shared_ptr<Binding>& Executable::Impl::checked_binding(const Feeds& feeds) {
  if (sizes_stay(feeds)) {
    check_elements(program, feeds, recent.front()->symbols);
    return recent.front();
  }
  const SymbolValues values = sizes_of(feeds);
  check_elements(program, feeds, values);
  const std::shared_ptr<Binding>& binding = binding_for(values);
  for (const FeedSpec& spec : program.feeds) {
    const Tensor& tensor = feeds.at(spec.name);
    last_fed.push_back({tensor.dtype(), tensor.on_device(), tensor.sizes()});
  }
  return binding;
}

// Touch the memory: until then, an allocation is only a promise of the kernel.
void Executable::Impl::reserve(const Feeds& feeds) {
  constexpr std::size_t kPage = 4096;
  make_room(*binding_for(sizes_of(feeds)));
  if (device_side) return;
  auto* const bytes = static_cast<volatile char*>(arena.raw());
  for (std::size_t i = 0; i < arena.bytes(); i += kPage) bytes[i] = 0;
}

struct Executable::Started::Impl {
  std::vector<Tensor> fetched;
  std::optional<DeviceSide::UnderWay> under_way;  // nothing: the results are already available
};

Executable::Started::Started() = default;
Executable::Started::Started(Started&&) noexcept = default;
Executable::Started& Executable::Started::operator=(Started&&) noexcept = default;
Executable::Started::~Started() = default;

std::vector<Tensor> Executable::Started::finish() {
  GRAPHRUN_CHECK(impl_ != nullptr, "a run that was waited for already, or never begun");
  const std::unique_ptr<Impl> run = std::move(impl_);
  if (run->under_way) run->under_way->finish();
  return std::move(run->fetched);
}

Executable::Started Executable::Impl::start(const Feeds& feeds, const RunOptions& options, Feeds* given_up) {
  GRAPHRUN_CHECK(options.watch == nullptr || (threads() == 1 && !device_side), "a watched run on several threads or a device");
  const std::int64_t begun = options.profiler == nullptr ? 0 : Profiler::now();
  const std::shared_ptr<Binding> binding = checked_binding(feeds);
  make_room(*binding);
  give_variables(*binding);
  give_feeds(binding->root, feeds);
  packed.bring_up_to_date(binding->packed, versions, memory_at);
  packed_feeds.bring_up_to_date(binding->packed_feeds, versions, memory_at);
  Started run;
  run.impl_ = std::make_unique<Started::Impl>();
  run.impl_->fetched = give_fetches(*binding, options.on_device, given_up);
  const RunContext context{options.seed,
                           options.step,
                           options.profiler,
                           binding->scan_steps.data(),
                           options.watch,
                           nullptr,
                           options.progress && !device_side ? &options.progress : nullptr};
  if (device_side) {
    device_side->run(*binding, context);
    if (!options.on_device) run.impl_->under_way = device_side->finish_later(run.impl_->fetched, binding);
    if (options.profiler != nullptr) device_side->backend.wait();
  } else {
    run_region(binding->root, context);
  }
  converted.clear();
  if (options.profiler != nullptr) options.profiler->record_run(begun, Profiler::now());
  return run;
}

Executable::Executable(Program program, std::shared_ptr<Variables> variables, Target target) {
  check_kernels(program, *target.device);
  auto shared = std::make_shared<const Program>(std::move(program));
  auto packed = std::make_shared<PackedWeightsStore>(*shared);
  impl_ = std::make_unique<Impl>(std::move(shared), std::move(variables), std::move(packed), target);
}
Executable::Executable(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Executable::Executable(Executable&&) noexcept = default;
Executable::~Executable() = default;

bool Executable::can_share() const {
  const std::vector<bool>& written = impl_->packed.written();
  const std::vector<VariableSpec>& variables = impl_->program.variables;
  return impl_->target.device->is_cpu() && std::count(written.begin(), written.end(), true) == 0 &&
         std::all_of(variables.begin(), variables.end(),
                     [](const VariableSpec& v) { return v.kind != VariableSpec::Kind::kState; });
}

Executable Executable::share() const {
  GRAPHRUN_CHECK(can_share(), "Executable::share: its runs would disturb each other");
  return Executable(std::make_unique<Impl>(impl_->shared_program, impl_->variables, impl_->shared_packed, impl_->target));
}

const Program& Executable::program() const { return impl_->program; }
Variables& Executable::variables() { return *impl_->variables; }
Tensor Executable::on_device(const Tensor& tensor) const {
  if (!impl_->device_side || tensor.on_device()) return tensor;
  Backend& device = impl_->device_side->backend;
  Tensor copy(tensor.dtype(), tensor.sizes(), device);
  device.to_device(copy.device_memory(), tensor.raw(), tensor.bytes());
  return copy;
}
Tensor Executable::Impl::memory_for_feed(const std::string& name, DType dtype, const Sizes& sizes) {
  const auto [memory, made] = device_side->feeds_on_device.try_emplace(name, device_side->backend);
  return std::move(memory->second.take({{0, dtype, sizes}}).front());
}
Tensor Executable::feed_on_device(const std::string& name, const Tensor& tensor) {
  if (!impl_->device_side || tensor.on_device()) return tensor;
  Tensor copy = impl_->memory_for_feed(name, tensor.dtype(), tensor.sizes());
  impl_->device_side->backend.to_device(copy.device_memory(), tensor.raw(), tensor.bytes());
  return copy;
}
Tensor Executable::zeros_on_device(const std::string& name, DType dtype, const Sizes& sizes) {
  if (!impl_->device_side) return {dtype, sizes};
  Tensor zeros = impl_->memory_for_feed(name, dtype, sizes);
  impl_->device_side->backend.clear(zeros.device_memory(), zeros.bytes());
  return zeros;
}
void Executable::finish() {
  if (impl_->device_side) impl_->device_side->finish({});
}
void Executable::reserve(const Feeds& feeds) { impl_->reserve(feeds); }
Executable::Started Executable::start(const Feeds& feeds, const RunOptions& options) {
  return impl_->start(feeds, options, nullptr);
}
std::vector<Tensor> Executable::run(const Feeds& feeds, const RunOptions& options) { return start(feeds, options).finish(); }
std::vector<Tensor> Executable::run(Feeds&& feeds, const RunOptions& options) {
  return impl_->start(feeds, options, &feeds).finish();
}

std::size_t Executable::arena_bytes() const {
  return impl_->recent.empty() ? 0 : static_cast<std::size_t>(impl_->recent.front()->layout.bytes);
}

std::size_t Executable::variable_bytes() const {
  std::size_t bytes = 0;
  for (const VariableSpec& spec : impl_->program.variables) {
    if (impl_->variables->has(spec.name)) bytes += impl_->variables->on_host(spec.name).bytes();
  }
  return bytes;
}

std::size_t Executable::packed_bytes() const { return impl_->packed.bytes() + impl_->packed_feeds.bytes(); }
std::size_t Executable::runs_played() const { return impl_->device_side ? impl_->device_side->played() : 0; }
std::size_t Executable::bindings_made() const { return impl_->bindings_made; }

}  // namespace graphrun
