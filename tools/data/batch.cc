#include "tools/data/batch.h"

#include <algorithm>
#include <type_traits>

#include "runtime/base/random.h"

namespace graphrun {
namespace {

template <class T>
T element(std::int32_t kept) {
  if constexpr (std::is_same_v<T, float>) {
    return float_of(kept);
  } else {
    return kept;
  }
}

// If the graph fixes the size of an axis, the tensor has that size, even if every sequence of the batch is empty.
std::int64_t given_size(const std::vector<std::int64_t>& sizes, std::size_t axis, std::int64_t longest) {
  return axis < sizes.size() && sizes[axis] != FeedPlan::kAnySize ? sizes[axis] : longest;
}

template <class T>
Tensor pad_inner(const std::vector<Nested>& values, DType dtype, const std::vector<std::int64_t>& sizes) {
  std::int64_t time = 0, inner = 0;
  for (const Nested& value : values) {
    time = std::max(time, value.steps());
    for (const std::int32_t n : value.lengths) inner = std::max<std::int64_t>(inner, n);
  }
  time = given_size(sizes, 0, time);
  inner = given_size(sizes, 1, inner);
  const std::int64_t rows = static_cast<std::int64_t>(values.size());
  Tensor tensor(dtype, {time, inner, rows});
  T* out = tensor.data<T>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const Nested& value = values[static_cast<std::size_t>(row)];
    std::size_t next = 0;
    for (std::size_t t = 0; t < value.lengths.size(); ++t) {
      for (std::int64_t i = 0; i < value.lengths[t]; ++i) {
        out[(static_cast<std::int64_t>(t) * inner + i) * rows + row] = element<T>(value.values[next++]);
      }
    }
  }
  return tensor;
}

template <class T>
Tensor pad_as(const std::vector<Nested>& values, int depth, DType dtype, const std::vector<std::int64_t>& sizes) {
  if (depth == 2) return pad_inner<T>(values, dtype, sizes);
  const std::int64_t rows = static_cast<std::int64_t>(values.size());
  std::int64_t time = depth == 0 ? 1 : 0;
  for (const Nested& value : values) time = std::max(time, value.steps());
  time = given_size(sizes, 0, time);
  Tensor tensor(dtype, depth == 0 ? Sizes{rows} : Sizes{time, rows});
  T* out = tensor.data<T>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto& steps = values[static_cast<std::size_t>(row)].values;
    for (std::size_t t = 0; t < steps.size(); ++t) out[static_cast<std::int64_t>(t) * rows + row] = element<T>(steps[t]);
  }
  return tensor;
}

}  // namespace

Tensor pad(const std::vector<Nested>& values, int depth, bool numbers, const std::vector<std::int64_t>& sizes) {
  return numbers ? pad_as<float>(values, depth, DType::kFloat32, sizes)
                 : pad_as<std::int32_t>(values, depth, DType::kInt32, sizes);
}

Batch make_batch(const FeedPlan& plan, const std::vector<std::size_t>& chosen, const std::vector<std::vector<Nested>>& fields,
                 StepsByFeed* steps) {
  Batch batch;
  batch.rows = static_cast<std::int64_t>(fields.size());
  bool counted = false;
  for (const std::size_t feed : chosen) {
    const FeedPlan::Feed& spec = plan.feeds()[feed];
    std::vector<Nested> values;
    values.reserve(fields.size());
    for (const auto& example : fields) values.push_back(plan.evaluate(feed, example));
    batch.feeds[spec.name] = pad(values, spec.depth, spec.numbers, spec.sizes);
    if (spec.depth == 0) continue;
    if (steps != nullptr) {
      for (const Nested& value : values) (*steps)[spec.name].push_back(value.steps());
    }
    if (counted) continue;
    counted = true;
    for (const Nested& value : values) batch.steps.push_back(value.steps());
  }
  if (!counted) batch.steps.assign(fields.size(), 1);
  for (const std::int64_t steps : batch.steps) batch.tokens += steps;
  return batch;
}

std::uint64_t hash_of(const std::vector<Nested>& fields, const std::vector<std::size_t>& chosen) {
  std::uint64_t hash = 0;
  for (const std::size_t i : chosen) {
    for (const std::vector<std::int32_t>* part : {&fields[i].values, &fields[i].lengths}) {
      hash = fold_coordinate(hash, hash_name(reinterpret_cast<const char*>(part->data()), part->size() * sizeof(std::int32_t)));
    }
  }
  return hash;
}

std::vector<std::size_t> choose_feeds(const FeedPlan& plan, const std::vector<std::string>& names) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < plan.feeds().size(); ++i) {
    if (names.empty() || std::find(names.begin(), names.end(), plan.feeds()[i].name) != names.end()) chosen.push_back(i);
  }
  for (const std::string& name : names) GRAPHRUN_CHECK(plan.feed(name), "choose_feeds: no feed " + name);
  return chosen;
}

std::set<std::string> fields_of(const FeedPlan& plan, const std::vector<std::size_t>& chosen) {
  std::set<std::string> fields;
  for (const std::size_t i : chosen) fields.insert(plan.feeds()[i].fields.begin(), plan.feeds()[i].fields.end());
  return fields;
}

}  // namespace graphrun
