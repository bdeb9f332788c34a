// Compares derived gradients with finite differences, in float64, for any graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

struct GradientCheckOptions {
  double tolerance = 1e-6;                    // largest relative error
  std::uint64_t seed = 1;                     // seed of parameters, feeds, weights and dropout
  std::map<std::string, std::int64_t> sizes;  // sizes of symbols; the others get small sizes
  std::int64_t most_elements = 200;           // elements to check in each tensor
  // A factor of the derived gradients, with which a test can show that an error of a thousandth is found.
  double scale_derived = 1;
};

enum class GradientVerdict : std::uint8_t {
  kRight,
  kIllConditioned,  // inconclusive: rounding of the scalar, or curvature, is larger than the tolerance
  kWrong,
};

struct GradientCheckResult {
  struct Tensor {
    std::string name;
    std::string kind;  // "parameter", "input", "state"
    std::string sizes;
    std::int64_t elements = 0, checked = 0;
    bool zero = true;                                   // every derived element that was checked is zero
    GradientVerdict verdict = GradientVerdict::kRight;  // the worst of its elements
    double error = 0;                                   // the largest relative error among elements with that verdict
    std::int64_t worst = 0;                             // index of the element with that error, row-major
    double derived = 0, differences = 0;                // values of that element
  };
  std::vector<Tensor> tensors;
  double scalar = 0;  // value of the differentiated scalar

  double error() const;             // the largest
  bool all_zero() const;            // if so, nothing was tested
  GradientVerdict verdict() const;  // the worst
  bool passed() const { return !all_zero() && verdict() == GradientVerdict::kRight; }
};

// The scalar is a fixed random weighting of all FLOAT outputs and next states. It is differentiated with respect to every
// parameter, FLOAT input and FLOAT state. The relative error of an element is |derived - differences| / max(|derived|,
// |differences|, 1e-4), infinite if either is not finite. It may exceed the tolerance by the error that rounding of the
// scalar's terms can cause in the differences (the rounding of their magnitude, divided by the step). If the function is not
// differentiable within the step of the differences (a kink), smaller steps are used. An element that differs is wrong if the
// differences of two steps agree well enough, otherwise ill-conditioned. Throws UserError (kInvalidGraph, E0330) if the graph
// has no FLOAT output or nothing to differentiate with respect to.
GradientCheckResult check_gradients(ir::Graph graph, const GradientCheckOptions& options);

}  // namespace graphrun
