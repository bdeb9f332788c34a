// What an op runs. A kernel is made once for each node and batch shape (`bind`), where it may look at sizes, choose an
// algorithm, create library primitives and declare its workspace; then it runs any number of times and allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/base/attributes.h"
#include "runtime/base/status.h"
#include "runtime/base/target.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

// What random numbers depend on beside the node's own key: never on threads, padding or the order of nodes.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;                    // of training
  std::span<const std::int64_t> scan_steps;  // the positions of the scans around the node, outermost first
  // On a device: the step's lower half in the device's memory, so that a launch which is done again draws anew.
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
  std::vector<bool> lasting_inputs;  // the same from run to run: variables that the program does not write
  bool is_lasting(std::size_t i) const { return i < lasting_inputs.size() && lasting_inputs[i]; }
  WeightForm weights = WeightForm::kFloat32;  // of lasting inputs
  ProductPrecision products = ProductPrecision::kFloat32;
  // What generated code is named by: inputs, then results, and what its instructions were in the graph (Instruction::origins).
  std::vector<std::string_view> names;
  std::span<const Origin> origins;
  WeightForm form_of(std::size_t i) const { return is_lasting(i) ? weights : WeightForm::kFloat32; }
};

// The first index out of its range that a run on a device met. A kernel cannot throw there: it takes the nearest index in range
// and records the fault here.
struct IndexFault {
  std::int32_t node = 0;  // KernelContext::node; 0: there was none
  std::int32_t index = 0;
  std::int64_t position = 0;  // in the operand
};

// The operands at run time, aligned to their elements alone. An in-place output may share its input's memory; none else does.
struct KernelContext {
  const Attributes* attributes = nullptr;
  std::span<const TensorView> inputs;  // absent optional ones have no data
  std::span<const TensorView> outputs;
  void* workspace = nullptr;  // kAlignment-aligned, of the size that bind declared; contents arbitrary
  RandomState random;
  // On a device other than the CPU, where operands lie in its memory:
  void* stream = nullptr;       // what the kernel runs on, in order with all others
  IndexFault* fault = nullptr;  // in the device's memory; null: nobody asks
  std::int32_t node = 0;        // what a fault names it by
};

// How threads share a kernel in a scan's body for all steps, so that none waits for another but where it reads what others
// made: each has a range of columns, the last axis of the results, and keeps it from step to step, with what belongs to it in
// its core's cache. Ranges begin at multiples of kColumnStep, and of the step of every kernel that shares the loop.
inline constexpr std::int64_t kColumnStep = 16;
struct ColumnKernel {
  std::int64_t columns = 0;               // size of the last axis of every result
  std::int64_t step = kColumnStep;        // a multiple of kColumnStep
  double operations = 0;                  // about how many a run takes, to tell what is worth sharing; 0: one an element
  std::vector<bool> reads_other_columns;  // by input: whether a range reads more of it than its own columns
  // Computes columns [begin, end) of all results; the bits of a column do not depend on the range.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> run;
  // Memory that lasts from `prepare` on over all steps; the context's workspace points to it, one for all threads.
  std::size_t packed_bytes = 0;
  // Called once for each range before the first step, when only constant inputs have data. Null: nothing to prepare.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> prepare;
  std::vector<bool> prepares_from;  // by input: whether `prepare` reads it
  // Of two kernels that have the same here and in `packed_bytes`, each can run on what the other prepared from the same inputs,
  // in order those that `prepares_from` has, whatever the ranges were: where those inputs are lasting, it is kept from run to
  // run, once for all of these kernels. Empty: not so.
  std::vector<std::int64_t> layout;
  // Whether running this way, prepared, is faster than the kernel itself where no loop is shared.
  bool alone = false;
};

// How threads share a kernel in a scan's body for all steps without ever waiting for each other: each has a range of rows, the
// first axis of the results, and what it reads of others is the same for all.
struct RowKernel {
  std::int64_t rows = 0;               // size of the first axis of every result
  double operations = 0;               // about how many additions a run takes; 0: one an element
  std::vector<bool> reads_other_rows;  // by input: whether rows of the results read more of it than the same rows
  // Computes rows [begin, end) of all results; the bits of a row do not depend on the range.
  std::function<void(const KernelContext&, std::int64_t begin, std::int64_t end)> run;
};

// What a kernel is in a loop that a device runs as one launch (runtime/scan/launch.h). The operators define it
// (ops/generated/loop_part.h): here it is opaque.
struct LoopPart;

// An op, bound. `run` is its role by itself. Its roles in loops are by_columns, by_rows and part, null if it has none there.
struct Kernel {
  std::function<void(const KernelContext&)> run;  // throws UserError (kBadData) for bad data; the executor adds the place
  std::size_t workspace = 0;  // bytes
  // Of a loop that threads share: by columns, or by rows. On a device, only the sizes and what is read count.
  std::shared_ptr<const ColumnKernel> by_columns = nullptr;
  std::shared_ptr<const RowKernel> by_rows = nullptr;
  // On a device: throws what `run` would have thrown for that index.
  std::function<void(const IndexFault&)> refuse = nullptr;
  // Of a loop that a device runs as one launch: what it is there, shared as by_columns or by_rows tells. With neither, every
  // block computes it for itself: a few numbers.
  std::shared_ptr<const LoopPart> part = nullptr;
  // Bytes that the blocks of such a launch may pass to each other through the device's memory, at most.
  std::size_t passed_bytes = 0;
  // Where there is no `by_columns`, and with other operands there would be: what about these prevents it.
  const char* no_columns = nullptr;
  // Where its code is generated: that code for people to read, with comments that quote the equations it came from.
  std::function<std::string()> text = nullptr;
};

using KernelFactory = std::function<Kernel(const KernelRequest&)>;

// Filled by static registrations in ops/; read-only after start-up, so safe to read from any thread.
class KernelRegistry {
 public:
  static KernelRegistry& instance();
  void add(std::string_view op, Device device, KernelFactory factory);
  const KernelFactory* find(std::string_view op, Device device) const;

 private:
  struct Impl;
  KernelRegistry();
  std::shared_ptr<Impl> impl_;
};

}  // namespace graphrun
