#include "tests/random/runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "runtime/execute/executable.h"

namespace graphrun::random_graphs {

CompileOptions compile_options(std::vector<std::string> disabled, Precision precision) {
  CompileOptions options;
  options.precision = precision;
  options.disabled_passes = std::move(disabled);
  return options;
}

Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, int runs, Target target) {
  return run(graph, options, data, {}, runs, target);
}

Results run(const ir::Graph& graph, const CompileOptions& options, const Data& data, const Feeds& others, int runs,
            Target target) {
  Results results;
  const auto variables = std::make_shared<Variables>();
  Executable executable(compile(graph, options), variables, target);
  data.set_parameters(executable.program(), *variables);
  Feeds feeds = data.feeds(executable.program());
  for (auto& [name, tensor] : feeds)
    if (const auto other = others.find(name); other != others.end()) tensor = other->second;
  for (int k = 0; k < runs; ++k) {
    RunOptions how;
    how.seed = 7, how.step = static_cast<std::uint64_t>(k);
    try {
      const std::vector<Tensor> found = executable.run(feeds, how);
      for (std::size_t i = 0; i < found.size(); ++i) {
        results.names.push_back(executable.program().fetches[i].name);
        results.values.push_back(found[i].clone());
      }
    } catch (const UserError& error) {
      results.refused = error.what();
      return results;
    }
  }
  for (const VariableSpec& spec : executable.program().variables) {
    if (spec.kind != VariableSpec::Kind::kState || !variables->has(spec.name)) continue;
    results.names.push_back("state " + spec.name);
    results.values.push_back(variables->at(spec.name).clone());
  }
  return results;
}

bool well_behaved(const Results& results) {
  for (const Tensor& t : results.values)
    for (std::int64_t i = 0; i < t.count(); ++i)
      if (!(std::abs(t.at(i)) < kLargest)) return false;
  return true;
}

std::string difference(const Results& a, const Results& b, double tolerance) {
  if (!b.refused.empty()) return "is refused: " + b.refused;
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    const auto found = std::find(b.names.begin(), b.names.end(), a.names[k]) - b.names.begin();
    std::size_t other = k;
    if (k >= b.names.size() || b.names[k] != a.names[k]) {
      if (found == static_cast<std::ptrdiff_t>(b.names.size())) continue;
      other = static_cast<std::size_t>(found);
    }
    const Tensor &x = a.values[k], &y = b.values[other];
    if (x.sizes() != y.sizes()) return fmt::format("{}: {} and {}", a.names[k], str(x.sizes()), str(y.sizes()));
    if (tolerance == 0 && x.bytes() != 0 && std::memcmp(x.raw(), y.raw(), x.bytes()) == 0) continue;
    double largest = 1;
    for (std::int64_t i = 0; i < x.count(); ++i) largest = std::max(largest, std::abs(x.at(i)));
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double p = x.at(i), q = y.at(i);
      const bool alike = tolerance == 0 ? std::memcmp(&p, &q, sizeof p) == 0 : std::abs(p - q) <= tolerance * largest;
      if (!alike) return fmt::format("{} at {}: {} and {}", a.names[k], i, p, q);
    }
  }
  return "";
}

Tensor first_along(const Tensor& tensor, std::size_t axis, std::int64_t count) {
  Sizes sizes = tensor.sizes();
  std::size_t before = 1, unit = size_of(tensor.dtype());
  for (std::size_t k = 0; k < axis; ++k) before *= static_cast<std::size_t>(sizes[k]);
  for (std::size_t k = axis + 1; k < sizes.size(); ++k) unit *= static_cast<std::size_t>(sizes[k]);
  const std::size_t stride = unit * static_cast<std::size_t>(sizes[axis]), kept = unit * static_cast<std::size_t>(count);
  sizes[axis] = count;
  Tensor first(tensor.dtype(), sizes);
  for (std::size_t k = 0; k < before && kept > 0; ++k)
    std::memcpy(static_cast<char*>(first.raw()) + k * kept, static_cast<const char*>(tensor.raw()) + k * stride, kept);
  return first;
}

}  // namespace graphrun::random_graphs
