// The code that computes an op. A kernel is made once for each node and batch shape (`bind`): it may look at sizes, choose an
// algorithm, create library primitives and declare its workspace. Then it runs any number of times and allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/attributes.h"
#include "runtime/base/rounding.h"
#include "runtime/base/status.h"
#include "runtime/tensor/backend.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// What random numbers depend on in addition to the node's own key. They never depend on threads, padding or the order of nodes.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;                    // of training
  std::span<const std::int64_t> scan_steps;  // the positions of the scans around the node, outermost first
  // On a device: the lower half of the step, in the device's memory, so that a replayed launch draws new numbers.
  const std::uint32_t* low_step = nullptr;
};

// The operands at bind time: sizes and dtypes, no data.
struct KernelRequest {
  const Attributes* attributes = nullptr;
  std::vector<TensorView> inputs;  // data is null; an absent optional input has `absent_inputs[i]`
  std::vector<bool> absent_inputs;
  std::vector<TensorView> outputs;
  const SymbolValues* symbols = nullptr;  // for attributes that are Dims
  std::vector<bool> constant_inputs;      // in a scan's body: the same at every step
  bool is_constant(std::size_t i) const { return i < constant_inputs.size() && constant_inputs[i]; }
  // The same from run to run: variables that the program does not write, and lasting feeds.
  std::vector<bool> lasting_inputs;
  bool is_lasting(std::size_t i) const { return i < lasting_inputs.size() && lasting_inputs[i]; }
  WeightForm weights = WeightForm::kFloat32;  // of lasting inputs
  ProductPrecision products = ProductPrecision::kFloat32;
  DeviceLimits device;  // of the device that the kernel is for, unless that is the CPU
  // For generated code: the names of inputs, then of results, and where its instructions come from (Instruction::origins).
  std::vector<std::string_view> names;
  std::span<const Origin> origins;
  WeightForm form_of(std::size_t i) const { return is_lasting(i) ? weights : WeightForm::kFloat32; }
};

// The first out-of-range index that a run on a device encountered. A kernel cannot throw there: it uses the nearest index in
// range and records the fault here.
struct IndexFault {
  std::int32_t node = 0;  // KernelContext::node; 0: there was none
  std::int32_t index = 0;
  std::int64_t position = 0;  // in the operand
};

// The operands at run time, aligned to the size of their elements. An in-place output may share the memory of its input; no
// other operands share memory.
struct KernelContext {
  const Attributes* attributes = nullptr;
  std::span<const TensorView> inputs;  // absent optional ones have no data
  std::span<const TensorView> outputs;
  void* workspace = nullptr;  // aligned to kAlignment, of the size that bind declared; contents arbitrary
  RandomState random;
  // On a device other than the CPU, where operands are in its memory:
  void* stream = nullptr;       // the stream on which the kernel runs, in order with all others
  IndexFault* fault = nullptr;  // in the device's memory; null: faults are not recorded
  std::int32_t node = 0;        // the number by which a fault names the kernel
};

// How threads share a kernel in a scan's body for all steps, waiting for each other only where they read each other's results.
// Each thread has a range of columns (the last axis of the results) and keeps it from step to step, with its part of the data
// in its core's cache. Ranges begin at multiples of kColumnStep, and of the step of every kernel that shares the loop.
inline constexpr std::int64_t kColumnStep = 16;
struct ColumnKernel {
  std::int64_t columns = 0;               // size of the last axis of every result
  std::int64_t step = kColumnStep;        // a multiple of kColumnStep
  double operations = 0;                  // approximate number in a run, to decide what to share; 0: one per element
  std::vector<bool> reads_other_columns;  // by input: whether a range reads more of it than its own columns
  // Computes columns [begin, end) of all results; the bits of a column do not depend on the range.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> run;
  // Memory that keeps its contents from `prepare` through all steps. The context's workspace points to it; all threads share
  // it.
  std::size_t packed_bytes = 0;
  // Called once for each range before the first step, when only constant inputs have data. Null: there is nothing to prepare.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> prepare;
  std::vector<bool> prepares_from;  // by input: whether `prepare` reads it
  // Identifies the form of the prepared data. If two kernels have the same layout and `packed_bytes`, each can run on what the
  // other prepared from the same inputs (those in `prepares_from`, in order), for any ranges. If those inputs are lasting, the
  // data is kept from run to run, once for all of these kernels. Empty: no other kernel can use it.
  std::vector<std::int64_t> layout;
  // Whether running this way, prepared, is faster than the kernel itself even if no threads share the loop.
  bool alone = false;
};

// How threads share a kernel in a scan's body for all steps without ever waiting for each other. Each thread has a range of
// rows (the first axis of the results); an input without these rows is read by all.
struct RowKernel {
  std::int64_t rows = 0;               // size of the first axis of every result
  double operations = 0;               // approximate number of additions in a run; 0: one per element
  std::vector<bool> reads_other_rows;  // by input: whether rows of the results read more of it than the same rows
  // Computes rows [begin, end) of all results; the bits of a row do not depend on the range.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> run;
};

// The form of a kernel in a loop that a device runs as one launch (runtime/scan/launch.h). The operators define it
// (ops/generated/loop_part.h); here it is opaque.
struct LoopPart;

// On a device: the form of a kernel in a scan whose steps are launched one by one. It derives data from inputs that are the
// same at every step, before the first step, when only these have data. The workspace has `bytes` bytes, which stay as
// `prepare` leaves them through all steps.
struct PreparedKernel {
  std::size_t bytes = 0;
  std::function<void()> choose;  // called once when it is known that the kernel will run in this form
  std::function<void(const KernelContext&)> prepare, run;
};

// An op, bound. `run` runs it by itself. Its forms in loops are by_columns, by_rows and part, null if it has none there. A
// kernel reports bad data, such as an out-of-range index, by throwing UserError (kBadData); the executor adds the node's name
// and location.
struct Kernel {
  std::function<void(const KernelContext&)> run;  // throws UserError (kBadData) for bad data; the executor adds the place
  std::size_t workspace = 0;                      // bytes
  // How threads share it by columns, and by rows; null if they cannot.
  std::shared_ptr<const ColumnKernel> by_columns = nullptr;
  std::shared_ptr<const RowKernel> by_rows = nullptr;
  // On a device: throws the error that the CPU's kernel throws for that index.
  std::function<void(const IndexFault&)> refuse = nullptr;
  // On a device: its form in a loop that runs as one launch; null if it cannot be part of one. It comes with `by_columns` or
  // `by_rows`, of which only the sizes and the inputs that are read matter, or with neither if the result has few numbers.
  std::shared_ptr<const LoopPart> part = nullptr;
  // Its form in a loop that runs launch by launch; null: `run`.
  std::shared_ptr<const PreparedKernel> prepared = nullptr;
  // The most bytes that the blocks of such a launch pass to each other through the device's memory.
  std::size_t passed_bytes = 0;
  // If there is no `by_columns` because of the operands: what about them prevents it.
  const char* no_columns = nullptr;
  // If its code is generated: the code for people to read, with comments that quote the equations it came from.
  std::function<std::string()> text = nullptr;
};

using KernelFactory = std::function<Kernel(const KernelRequest&)>;

// The kernels of one kind of device, by operator. Static registrations fill it while the library that contains the kernels is
// loaded. Then it is sealed: it no longer changes, and any thread may read it.
class KernelRegistry {
 public:
  // Throws InternalError if the operator already has a kernel, or if the registry is sealed.
  void add(std::string_view op, KernelFactory factory);
  void seal() { sealed_ = true; }
  // Null if the operator has no kernel. Throws InternalError if the registry is not sealed yet.
  const KernelFactory* find(std::string_view op) const;

 private:
  std::map<std::string, KernelFactory, std::less<>> factories_;
  bool sealed_ = false;
};

// The devices that kernels are written for.
enum class DeviceKind : std::uint8_t { kCpu, kCuda };

// The registry to which static registrations add kernels for a kind of device, defined in the library that contains them. All
// other code finds kernels through a Device (runtime/device/device.h).
template <DeviceKind>
KernelRegistry& registered_kernels();
template <>
KernelRegistry& registered_kernels<DeviceKind::kCpu>();
template <>
KernelRegistry& registered_kernels<DeviceKind::kCuda>();

}  // namespace graphrun
