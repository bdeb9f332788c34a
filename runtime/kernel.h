// What an op runs. A kernel is made once for each node and batch shape (`bind`), where it may look at sizes, choose an
// algorithm, create library primitives and declare its workspace; then it runs any number of times and allocates nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/attributes.h"
#include "runtime/tensor.h"

namespace graphrun {

enum class Device : std::uint8_t { kCpu, kCuda };

// What random numbers hang on beside the node's own key: never on threads, padding or the order of nodes.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t step = 0;                    // of training
  std::span<const std::int64_t> scan_steps;  // the positions of the scans around the node, outermost first
};

// The operands at bind time: sizes and dtypes, no data.
struct KernelRequest {
  const Attributes* attributes = nullptr;
  std::vector<TensorView> inputs;  // data is null; an absent optional input has `absent_inputs[i]`
  std::vector<bool> absent_inputs;
  std::vector<TensorView> outputs;
  const SymbolValues* symbols = nullptr;  // for attributes that are Dims
};

// The operands at run time, aligned to their elements alone. An in-place output may share its input's memory; none else does.
struct KernelContext {
  const Attributes* attributes = nullptr;
  std::span<const TensorView> inputs;  // absent optional ones have no data
  std::span<const TensorView> outputs;
  void* workspace = nullptr;  // kAlignment-aligned, of the size that bind declared; contents arbitrary
  RandomState random;
};

// A kernel reports a bad index and the like by throwing UserError (kBadData); the executor adds the node's name and place.
struct Kernel {
  std::function<void(const KernelContext&)> run;
  std::size_t workspace = 0;  // bytes
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
