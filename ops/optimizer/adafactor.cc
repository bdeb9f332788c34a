// Adafactor. Its step depends on whole rows and columns and on all elements of a parameter, so it is an op of its own.
#include "ops/optimizer/adafactor.h"

#include <algorithm>

#include "ops/optimizer/adafactor_simd.h"
#include "ops/optimizer/update_op.h"
#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// The slots: s [..., rows] and c [..., columns] for a matrix, s with the parameter's shape for a vector or scalar; m only with
// momentum.
std::optional<Shape> adafactor_slot(std::string_view slot, const Shape& parameter, const Attributes& attributes) {
  const bool factored = parameter.size() >= 2;
  Shape shape = parameter;
  if (slot == "m") return attributes.number("beta1") > 0 ? std::optional(shape) : std::nullopt;
  if (slot == "c" && !factored) return std::nullopt;
  if (factored) shape.erase(slot == "s" ? shape.end() - 1 : shape.end() - 2);
  return shape;
}

const OpRegistration adafactor_op =
    UpdateOp("adafactor", Counted::kYes)
        .Doc(
            "Adafactor (Shazeer & Stern 2018, Algorithms 4 to 6). For a matrix [..., rows, columns] it keeps only the mean "
            "squares\n"
            "of rows and of columns, from which the mean square v of an element follows. The paper uses the rate 1e-2",
            "k = 1 - t ** -beta2_decay, the decay of the means,\n"
            "  matrices:  s' = k s + (1 - k) mean(g'² + epsilon1 over columns),  c' = k c + (1 - k) mean(g'² + epsilon1 over "
            "rows),\n"
            "             v = s' c' / mean(s' over rows),\n"
            "  others:    v = s' = k s + (1 - k) (g'² + epsilon1),\n"
            "  u = g' / √v,  x = u / max(1, rms(u) / clip),  with beta1: m' = beta1 m + (1 - beta1) x, which replaces x,\n"
            "  step = (min(rate, 1 / √t) if relative_step else rate) * (max(epsilon2, rms(p)) if scale_parameter else 1),\n"
            "  p' = p - (step * x + rate * weight_decay p)")
        .Slot("s", "for a matrix, the mean squares of its rows; otherwise, those of the elements")
        .OptionalSlot("c", "for a matrix, the mean squares of its columns")
        .OptionalSlot("m", "if beta1 is above 0, the mean of the steps")
        .SlotShape(adafactor_slot)
        .Setting("beta1", 0, ir::Range::kBelowOne, "the decay of m; 0: no momentum, and no memory for it")
        .Setting("beta2_decay", 0.8, ir::Range::kPositive, "how fast the decay of the means approaches 1")
        .Setting("epsilon1", 1e-30, ir::Range::kPositive, "added to squared gradients")
        .Setting("epsilon2", 1e-3, ir::Range::kPositive, "the smallest root mean square of a parameter that scales its step")
        .Setting("clip", 1, ir::Range::kPositive, "the largest root mean square of a step, before it is scaled")
        .Flag("relative_step", true, "the rate is at most 1 / √t")
        .Flag("scale_parameter", true, "the step is multiplied by the root mean square of the parameter");

// Divides a parameter into parts that depend on its sizes alone: up to 16 groups of rows of each matrix, or runs of elements.
struct AdafactorParts {
  std::int64_t matrices = 1, rows = 1, columns = 1, blocks = 1;
  bool factored = false;

  explicit AdafactorParts(const Sizes& sizes) : factored(sizes.size() >= 2) {
    constexpr std::int64_t kMostBlocks = 16;
    std::int64_t count = 1;
    for (const std::int64_t size : sizes) count *= size;
    if (!factored) {
      columns = count;
      blocks = (count + kUpdateGrain - 1) / kUpdateGrain;
      return;
    }
    rows = sizes[sizes.size() - 2], columns = sizes.back();
    matrices = rows * columns == 0 ? 0 : count / (rows * columns);
    blocks = std::min(kMostBlocks, rows);
  }
  std::int64_t parts() const { return matrices * blocks; }
  // The first row (counted through all matrices) or element of part i.
  std::int64_t begin(std::int64_t i) const {
    if (!factored) return std::min(i * kUpdateGrain, columns);
    return i / blocks * rows + i % blocks * rows / blocks;
  }
  std::int64_t end(std::int64_t i) const { return factored && (i + 1) % blocks == 0 ? (i / blocks + 1) * rows : begin(i + 1); }
  // The fewest parts that are enough work for a thread.
  std::int64_t grain() const {
    const std::int64_t elements = std::max<std::int64_t>(1, matrices * rows * columns / std::max<std::int64_t>(1, parts()));
    return std::max<std::int64_t>(1, kUpdateGrain / elements);
  }
};

double sum_of(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// The layout of the workspace: doubles, then the factors.
struct AdafactorWorkspace {
  double *parameters, *steps, *columns;
  void* factors;

  AdafactorWorkspace(const AdafactorParts& parts, void* from) : parameters(static_cast<double*>(from)) {
    steps = parameters + parts.parts();
    columns = steps + parts.parts();
    factors = columns + (parts.factored ? parts.blocks * parts.columns : 0);
  }
  static std::size_t bytes(const AdafactorParts& parts, std::size_t element) {
    const std::int64_t doubles = 2 * parts.parts() + (parts.factored ? parts.blocks * parts.columns : 0);
    const std::int64_t factors = parts.factored ? parts.matrices * (parts.rows + parts.columns) : 0;
    return static_cast<std::size_t>(doubles) * sizeof(double) + static_cast<std::size_t>(factors) * element;
  }
};

template <class T>
class AdafactorRun {
 public:
  AdafactorRun(const AdafactorParts& parts, const AdafactorSettings& settings, const KernelContext& c)
      : parts_(parts), memory_(parts, c.workspace) {
    const auto slot = [&](std::size_t i) { return c.inputs[i].present() ? c.inputs[i].as<const T>() : nullptr; };
    task_.p = c.inputs[0].as<const T>(), task_.g = c.inputs[1].as<const T>(), task_.p_next = c.outputs[0].as<T>();
    task_.s = slot(2), task_.c = slot(3), task_.m = slot(4);
    std::size_t next = 1;
    task_.s_next = c.outputs[next++].as<T>();
    if (task_.c != nullptr) task_.c_next = c.outputs[next++].as<T>();
    if (task_.m != nullptr) task_.m_next = c.outputs[next].as<T>();
    task_.matrices = parts.matrices, task_.rows = parts.rows, task_.columns = parts.columns;
    task_.row_factor = static_cast<T*>(memory_.factors);
    task_.column_factor = task_.row_factor + parts.matrices * parts.rows;
    task_.settings = settings;
    numbers_ = adafactor_numbers(settings, scalar_or_one<T>(c, 5), scalar_or_one<T>(c, 7), scalar_or_one<T>(c, 6));
  }

  void run() {
    if (parts_.factored) {
      for (std::int64_t matrix = 0; matrix < parts_.matrices; ++matrix) measure(matrix);
      each(0, parts_.parts(), [](const AdafactorPart<T>& part) { adafactor_steps(part); });
    } else {
      each(0, parts_.parts(), [](const AdafactorPart<T>& part) { adafactor_elements(part); });
    }
    const auto count = static_cast<double>(task_.count());
    length_ = adafactor_length(task_.settings, numbers_, sum_of(memory_.parameters, parts_.parts()) / count,
                               sum_of(memory_.steps, parts_.parts()) / count);
    each(0, parts_.parts(), [](const AdafactorPart<T>& part) { adafactor_move(part); });
  }

 private:
  template <class Work>
  void each(std::int64_t first, std::int64_t count, const Work& work) {
    parallel_ranges(count, parts_.grain(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = first + begin; i < first + end; ++i) {
        AdafactorPart<T> part{task_, numbers_, parts_.begin(i), parts_.end(i)};
        if (parts_.factored) part.columns = memory_.columns + i % parts_.blocks * parts_.columns;
        part.parameters = memory_.parameters + i, part.steps = memory_.steps + i, part.length = length_;
        work(part);
      }
    });
  }

  // Computes s', c' and the factors of a matrix.
  void measure(std::int64_t matrix) {
    each(matrix * parts_.blocks, parts_.blocks, [](const AdafactorPart<T>& part) { adafactor_rows(part); });
    const std::int64_t rows = parts_.rows, columns = parts_.columns;
    for (std::int64_t k = 0; k < columns; ++k) {
      double squares = 0;
      for (std::int64_t block = 0; block < parts_.blocks; ++block) squares += memory_.columns[block * columns + k];
      const std::int64_t at = matrix * columns + k;
      const double mean = squares / static_cast<double>(rows) + task_.settings.epsilon1;
      task_.c_next[at] = static_cast<T>(numbers_.keep * static_cast<double>(task_.c[at]) + (1 - numbers_.keep) * mean);
      task_.column_factor[at] = static_cast<T>(1 / std::sqrt(static_cast<double>(task_.c_next[at])));
    }
    double mean = 0;
    for (std::int64_t k = 0; k < rows; ++k) mean += static_cast<double>(task_.s_next[matrix * rows + k]);
    mean /= static_cast<double>(rows);
    for (std::int64_t k = matrix * rows; k < (matrix + 1) * rows; ++k)
      task_.row_factor[k] = static_cast<T>(1 / std::sqrt(static_cast<double>(task_.s_next[k]) / mean));
  }

  const AdafactorParts& parts_;
  AdafactorWorkspace memory_;
  AdafactorTask<T> task_;
  AdafactorNumbers numbers_;
  AdafactorLength length_;
};

// A parameter without elements has nothing to measure.
template <class T>
void keep_means(const KernelContext& c) {
  for (std::size_t k = 1; k < c.outputs.size(); ++k)
    std::copy_n(c.inputs[1 + k].as<const T>(), c.outputs[k].count(), c.outputs[k].as<T>());
}

template <class T>
Kernel adafactor_kernel(const KernelRequest& request) {
  const AdafactorParts parts(request.inputs.at(0).sizes);
  const AdafactorSettings settings = adafactor_settings(*request.attributes);
  if (parts.matrices * parts.rows * parts.columns == 0) return {keep_means<T>, 0};
  return {[=](const KernelContext& c) { AdafactorRun<T>(parts, settings, c).run(); },
          AdafactorWorkspace::bytes(parts, sizeof(T))};
}
REGISTER_KERNEL("adafactor_update", kCpu, [](const KernelRequest& request) {
  return request.outputs.at(0).dtype == DType::kFloat32 ? adafactor_kernel<float>(request) : adafactor_kernel<double>(request);
});

}  // namespace
}  // namespace graphrun
