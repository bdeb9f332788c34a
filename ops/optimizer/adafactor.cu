// Adafactor on CUDA. Sums are computed along columns of a parameter and over pieces of it, and one block combines them: the
// order depends on the sizes alone.
#include "ops/optimizer/adafactor.h"

#include "ops/dispatch.h"
#include "ops/generated/device_functions.h"
#include "ops/reduce/columns_device.h"
#include "ops/schema.h"

namespace graphrun {
namespace {

using cuda::Column;

// The first part of the workspace, before the means of rows, the sums of pieces and the factors.
struct AdafactorState {
  AdafactorNumbers numbers;
  AdafactorLength length;
};
// Sums of p² and of squared unclipped steps.
struct AdafactorSums {
  double parameters, steps;
};
struct AddSums {
  GRAPHRUN_DEVICE AdafactorSums operator()(AdafactorSums a, AdafactorSums b) const {
    return {a.parameters + b.parameters, a.steps + b.steps};
  }
};
constexpr std::int64_t kAdafactorPiece = 4096;

template <class T>
GRAPHRUN_DEVICE T mean_with(const AdafactorState& state, T old, double mean) {
  return static_cast<T>(state.numbers.keep * static_cast<double>(old) + (1 - state.numbers.keep) * mean);
}
template <class T>
GRAPHRUN_DEVICE double squared_gradient(const AdafactorTask<T>& t, const AdafactorState& state, std::int64_t i) {
  const auto g = static_cast<double>(t.gradient(state.numbers, i));
  return g * g;
}
// The unclipped step.
template <class T>
GRAPHRUN_DEVICE T unclipped(const AdafactorTask<T>& t, const AdafactorState& state, std::int64_t i) {
  const T g = t.gradient(state.numbers, i);
  if (!t.factored()) return g * (T(1) / element::sqrt(t.s_next[i]));
  return g * t.row_factor[i / t.columns] * t.column_factor[i / (t.rows * t.columns) * t.columns + i % t.columns];
}

// s' of rows: columns of the reduction along the last axis.
template <class T>
struct RowsBody {
  AdafactorTask<T> t;
  const AdafactorState* state;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const double sum = c.fold(
        0.0, [this](double all, std::int64_t at, std::int64_t) { return all + squared_gradient(t, *state, at); }, cuda::Add());
    if (c.leads())
      t.s_next[c.result] = mean_with(*state, t.s[c.result], sum / static_cast<double>(t.columns) + t.settings.epsilon1);
  }
};
template <class T>
struct ColumnsBody {
  AdafactorTask<T> t;
  const AdafactorState* state;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const double sum = c.fold(
        0.0, [this](double all, std::int64_t at, std::int64_t) { return all + squared_gradient(t, *state, at); }, cuda::Add());
    if (!c.leads()) return;
    const T next = mean_with(*state, t.c[c.result], sum / static_cast<double>(t.rows) + t.settings.epsilon1);
    t.c_next[c.result] = next;
    t.column_factor[c.result] = static_cast<T>(1 / element::sqrt(static_cast<double>(next)));
  }
};
// The factors of a matrix's rows.
template <class T>
struct RowFactorsBody {
  AdafactorTask<T> t;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const double sum = c.fold(
        0.0, [this](double all, std::int64_t at, std::int64_t) { return all + static_cast<double>(t.s_next[at]); },
        cuda::Add());
    const double mean = sum / static_cast<double>(t.rows);
    c.each([this, mean](std::int64_t at, std::int64_t, bool) {
      t.row_factor[at] = static_cast<T>(1 / element::sqrt(static_cast<double>(t.s_next[at]) / mean));
    });
  }
};

template <class T>
struct PieceSumsBody {
  AdafactorTask<T> t;
  std::int64_t count;
  const AdafactorState* state;
  AdafactorSums* out;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const AdafactorSums sums = c.fold(
        AdafactorSums{0, 0},
        [this](AdafactorSums all, std::int64_t at, std::int64_t) {
          if (at >= count) return all;
          const auto p = static_cast<double>(t.p[at]), step = static_cast<double>(unclipped(t, *state, at));
          return AdafactorSums{all.parameters + p * p, all.steps + step * step};
        },
        AddSums());
    if (c.leads()) out[c.result] = sums;
  }
};
struct LengthBody {
  AdafactorSettings settings;
  std::int64_t count;
  const AdafactorSums* pieces;
  AdafactorState* state;
  GRAPHRUN_DEVICE void operator()(const Column& c) const {
    const AdafactorSums sums = c.fold(
        AdafactorSums{0, 0}, [this](AdafactorSums all, std::int64_t at, std::int64_t) { return AddSums()(all, pieces[at]); },
        AddSums());
    const auto n = static_cast<double>(count);
    if (c.leads()) state->length = adafactor_length(settings, state->numbers, sums.parameters / n, sums.steps / n);
  }
};

template <class T>
struct MoveBody {
  AdafactorTask<T> t;
  const AdafactorState* state;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    T step = static_cast<T>(state->length.clip) * unclipped(t, *state, i);
    if (t.m != nullptr) {
      step = static_cast<T>(t.settings.beta1) * t.m[i] + static_cast<T>(1 - t.settings.beta1) * step;
      t.m_next[i] = step;
    }
    const T p = t.p[i];
    t.p_next[i] = p - (static_cast<T>(state->numbers.shrink) * p + static_cast<T>(state->length.step) * step);
  }
};

// The positions of the workspace's parts.
struct AdafactorPlaces {
  std::int64_t matrices = 1, rows = 1, columns = 1, pieces = 0;
  bool factored = false;
  std::int64_t count() const { return matrices * rows * columns; }

  explicit AdafactorPlaces(const Sizes& sizes) : factored(sizes.size() >= 2) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      (!factored || i + 1 == sizes.size() ? columns : i + 2 == sizes.size() ? rows : matrices) *= sizes[i];
    pieces = (count() + kAdafactorPiece - 1) / kAdafactorPiece;
  }
  std::size_t factors_at() const { return sizeof(AdafactorState) + static_cast<std::size_t>(pieces) * sizeof(AdafactorSums); }
  std::size_t bytes(std::size_t element) const {
    return factors_at() + (factored ? static_cast<std::size_t>(matrices * (rows + columns)) * element : 0);
  }
};

// Inputs: p, g, s, optional c, optional m, rate, t, optional scale. Outputs: p and the slots that exist.
template <class T>
void run_adafactor(const KernelContext& c, const AdafactorPlaces& at, const AdafactorSettings& settings) {
  if (at.count() == 0) {  // nothing to measure: the means do not change
    for (std::size_t k = 1; k < c.outputs.size(); ++k) {
      const T* old = c.inputs[1 + k].as<const T>();
      T* kept = c.outputs[k].as<T>();
      cuda::for_elements(
          c, c.outputs[k].count(), GRAPHRUN_LAMBDA(std::int64_t i) { kept[i] = old[i]; });
    }
    return;
  }
  auto* memory = static_cast<unsigned char*>(c.workspace);
  auto* state = reinterpret_cast<AdafactorState*>(memory);
  auto* sums = reinterpret_cast<AdafactorSums*>(memory + sizeof(AdafactorState));
  AdafactorTask<T> t;
  t.p = c.inputs[0].as<const T>(), t.g = c.inputs[1].as<const T>(), t.p_next = c.outputs[0].as<T>();
  t.s = c.inputs[2].as<const T>(), t.c = c.inputs[3].as<const T>(), t.m = c.inputs[4].as<const T>();
  std::size_t next = 1;
  t.s_next = c.outputs[next++].as<T>();
  if (t.c != nullptr) t.c_next = c.outputs[next++].as<T>();
  if (t.m != nullptr) t.m_next = c.outputs[next].as<T>();
  t.matrices = at.matrices, t.rows = at.rows, t.columns = at.columns, t.settings = settings;
  t.row_factor = reinterpret_cast<T*>(memory + at.factors_at());
  t.column_factor = t.row_factor + at.matrices * at.rows;

  const T *rate = c.inputs[5].as<const T>(), *count = c.inputs[6].as<const T>();
  const T* scale = c.inputs.size() > 7 ? c.inputs[7].as<const T>() : nullptr;
  cuda::for_elements(
      c, 1, GRAPHRUN_LAMBDA(std::int64_t) {
        state->numbers = adafactor_numbers(settings, static_cast<double>(*rate),
                                           scale == nullptr ? 1.0 : static_cast<double>(*scale), static_cast<double>(*count));
      });
  if (at.factored) {
    cuda::for_columns(c, {at.matrices * at.rows, at.columns, 1}, {nullptr, 1, at.columns}, sizeof(double),
                      RowsBody<T>{t, state});
    cuda::for_columns(c, {at.matrices, at.rows, at.columns}, {nullptr, 1, at.rows}, sizeof(double), ColumnsBody<T>{t, state});
    cuda::for_columns(c, {at.matrices, at.rows, 1}, {nullptr, 1, at.rows}, sizeof(double), RowFactorsBody<T>{t});
  } else {
    cuda::for_elements(
        c, at.count(), GRAPHRUN_LAMBDA(std::int64_t i) {
          t.s_next[i] = mean_with(*state, t.s[i], squared_gradient(t, *state, i) + settings.epsilon1);
        });
  }
  cuda::for_columns(c, {at.pieces, kAdafactorPiece, 1}, {nullptr, 1, kAdafactorPiece}, sizeof(AdafactorSums),
                    PieceSumsBody<T>{t, at.count(), state, sums});
  cuda::for_columns(c, {1, at.pieces, 1}, {nullptr, 1, at.pieces}, sizeof(AdafactorSums),
                    LengthBody{settings, at.count(), sums, state});
  cuda::for_elements(c, at.count(), MoveBody<T>{t, state});
}

REGISTER_KERNEL("adafactor_update", kCuda, [](const KernelRequest& request) {
  const AdafactorPlaces at(request.inputs.at(0).sizes);
  const AdafactorSettings settings = adafactor_settings(*request.attributes);
  return with_float(request.outputs.at(0).dtype, [&](auto zero) {
    using T = decltype(zero);
    return Kernel{[=](const KernelContext& c) { run_adafactor<T>(c, at, settings); }, at.bytes(sizeof(T))};
  });
});

}  // namespace
}  // namespace graphrun
