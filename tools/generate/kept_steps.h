// What the steps of a search chose, and the values fetched from them. On a device they stay there until the search has ended,
// in memory of their own: the next step may then write its results where this one did.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/tensor/tensor.h"

namespace graphrun {

struct KeptStep {
  Tensor words, parents, gains;  // by place: INT32, INT32 and FLOAT [S·B] (search_graph.h)
  std::vector<Tensor> fetches;
};

class KeptSteps {
 public:
  explicit KeptSteps(const Device& device) : device_(device) {}

  void clear();
  // All steps of a search have the same number of places.
  void add(KeptStep step);
  std::int64_t count() const { return static_cast<std::int64_t>(steps_.size()); }
  // Copies all steps to the host, with a single wait.
  void bring_to_host();
  // In host memory, after bring_to_host().
  const KeptStep& at(std::int64_t step) const { return steps_.at(static_cast<std::size_t>(step)); }

 private:
  const Device& device_;
  std::vector<KeptStep> steps_;  // on a device, until bring_to_host(), with fetches alone
  std::vector<Tensor> blocks_;   // on a device: INT32 [kStepsOfBlock, 3, S·B], the bits of words, parents and gains
};

}  // namespace graphrun
