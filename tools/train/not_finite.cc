#include "tools/train/not_finite.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "runtime/base/processor.h"
#include "runtime/program/watch.h"
#include "runtime/threads/threads.h"
#include "tools/train/state.h"

namespace graphrun {
namespace {

// NaN has no sign.
std::string number_text(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

template <class T>
std::int64_t first_bad(const TensorView& tensor) {
  const T* const x = tensor.as<const T>();
  const std::int64_t count = tensor.count();
  for (std::int64_t i = 0; i < count; ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

// The index of the first element that is not finite, or -1.
std::int64_t first_bad_element(const TensorView& tensor) {
  if (!tensor.present()) return -1;
  if (tensor.dtype == DType::kFloat32) return first_bad<float>(tensor);
  return tensor.dtype == DType::kFloat64 ? first_bad<double>(tensor) : -1;
}

// "element [3, 17] is inf"
std::string element_text(const TensorView& tensor, std::int64_t i) {
  const double value = tensor.dtype == DType::kFloat32 ? tensor.as<const float>()[i] : tensor.as<const double>()[i];
  if (tensor.sizes.empty()) return "it is " + number_text(value);
  Sizes at(tensor.sizes.size());
  for (std::size_t axis = at.size(); axis-- > 0; i /= tensor.sizes[axis]) at[axis] = i % tensor.sizes[axis];
  return fmt::format("element {} is {}", str(at), number_text(value));
}

class FiniteWatch : public Watch {
 public:
  // `passed_over`: names of nodes to ignore.
  explicit FiniteWatch(std::set<std::string> passed_over = {}) : passed_over_(std::move(passed_over)) {}

  void made(const Instruction& instruction, std::span<const TensorView> outputs, std::span<const std::int64_t> steps) override {
    if (names_.count(instruction.name) != 0) return;
    for (const TensorView& output : outputs) {
      const std::int64_t bad = first_bad_element(output);
      if (bad < 0) continue;
      names_.insert(instruction.name);
      if (first_ || passed_over_.count(instruction.name) != 0) return;
      const std::string op = instruction.op.empty() ? "" : fmt::format(" ({})", instruction.op);
      first_ = {fmt::format("'{}'{}: {}{}", instruction.name, op, element_text(output, bad),
                            steps.empty() ? "" : fmt::format(", where step() is {}", steps.back())),
                instruction.at};
      return;
    }
  }

  const std::optional<NotFinite>& first() const { return first_; }
  const std::set<std::string>& names() const { return names_; }

 private:
  std::set<std::string> passed_over_, names_;
  std::optional<NotFinite> first_;
};

std::optional<NotFinite> bad_variable(const Stepper& stepper) {
  for (const VariableSpec& variable : stepper.program().variables) {
    if (!stepper.variables().has(variable.name)) continue;
    const TensorView tensor = stepper.variables().at(variable.name).view();
    if (const std::int64_t bad = first_bad_element(tensor); bad >= 0) {
      return NotFinite{fmt::format("'{}', before the step: {}", variable.name, element_text(tensor, bad)), variable.at};
    }
  }
  return std::nullopt;
}

Batch next_batch(BatchSource& source, BatchPosition& at) {
  std::optional<Batch> batch = source.next();
  if (!batch) {
    source.begin({at.epoch + 1, 0});
    batch = source.next();
  }
  GRAPHRUN_CHECK(batch.has_value(), "find_not_finite: no batch");
  at = batch->position;
  return std::move(*batch);
}

}  // namespace

std::optional<NotFinite> find_not_finite(const StepsSince& steps, Stepper& stepper, BatchSource& source,
                                         const std::function<bool()>& stop) {
  const CheckpointReader checkpoint(steps.checkpoint);
  const TrainState state = parse_state(checkpoint.text("state.json"), steps.checkpoint + "/state.json");
  stepper.restore(checkpoint, state.pending);
  BatchPosition at = state.next;
  source.begin(at);
  FiniteWatch before;
  std::int64_t step = state.step;
  for (std::size_t i = 0; i < steps.rates.size(); ++i) {
    if (stop()) return std::nullopt;
    const std::int64_t epoch = at.epoch;
    const Batch batch = next_batch(source, at);
    if (at.epoch != epoch && stepper.finish(step, steps.rates[i])) ++step;
    stepper.enter(batch);
    if (i + 2 == steps.rates.size()) stepper.watch(batch, step, steps.rates[i], before);
    if (i + 1 < steps.rates.size()) {
      if (const auto outcome = stepper.add(batch, step, steps.rates[i])) (*outcome)(), ++step;
      continue;
    }
    if (std::optional<NotFinite> variable = bad_variable(stepper)) return variable;
    FiniteWatch last(before.names());
    stepper.watch(batch, step, steps.rates[i], last);
    return last.first();
  }
  return std::nullopt;
}

std::string figures_text(const StepResult& result) {
  return fmt::format("loss {}, norm of the gradient {}", number_text(result.loss), number_text(result.gradient_norm));
}

UserError diverged(const BadUpdate& update, const StepsSince& steps, Stepper& stepper, BatchSource& source,
                   const LoadedJob& job, const std::function<bool()>& stop) {
  Diagnostic problem{
      Severity::kError,
      "E0670 diverged",
      {},
      fmt::format("step {} (epoch {}, batch {}): {}", update.step, update.epoch, update.batch, figures_text(update.result)),
      {}};
  try {
    if (const auto first = find_not_finite(steps, stepper, source, stop)) {
      problem.at = first->at;
      problem.notes.push_back("note: the first that is not finite is " + first->what);
    }
  } catch (const UserError& error) {
    problem.notes.push_back("note: where it began could not be found: " + error.diagnostics().front().text);
  }
  if (job.products != ProductPrecision::kFloat32 && !rounds_on_cpu(job.products)) {
    problem.notes.push_back("note: a GPU rounds products to " + Job::ProductPrecision_Name(job.message.product_precision()) +
                            "; the steps were repeated in float32");
  }
  problem.notes.push_back("note: the last checkpoint is kept: " + steps.checkpoint);
  problem.notes.push_back("help: a lower learning rate, or clip { global_norm: … }");
  return {ExitCode::kDiverged, {std::move(problem)}};
}

}  // namespace graphrun
