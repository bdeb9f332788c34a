#include "tools/gradcheck/random_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "runtime/base/random.h"

namespace graphrun {
namespace {

constexpr std::int64_t kSizes[] = {4, 3, 5, 2, 6, 7, 8, 9};
constexpr std::int64_t kUnboundedBelow = 3;
constexpr double kWidth = 0.5;

// A stream of random numbers that belongs to a name.
class Draws {
 public:
  Draws(const std::string& name, std::uint64_t seed) : key_(fold_coordinate(hash_name(name.data(), name.size()), seed)) {}
  double unit(std::int64_t i) const {
    const auto at = static_cast<std::uint64_t>(i);
    const Philox random = philox(key_, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), 0, 0);
    return unit_double(random.v[0], random.v[1]);
  }
  std::int64_t below(std::int64_t i, std::int64_t n) const {
    return std::min(n - 1, static_cast<std::int64_t>(unit(i) * static_cast<double>(n)));
  }

 private:
  std::uint64_t key_;
};

void fill_uniform(Tensor& tensor, const Draws& draws, double middle = 0, double width = kWidth) {
  double* out = tensor.data<double>();
  for (std::int64_t i = 0; i < tensor.count(); ++i) out[i] = middle + (2 * draws.unit(i) - 1) * width;
}

void collect(const Shape& shape, const ir::Graph& graph, std::vector<Symbol>& order, std::set<Symbol>& seen) {
  for (const Dim& dim : shape) {
    for (const Symbol symbol : dim.symbols()) {
      const auto defined = graph.defined_symbols.find(symbol);
      if (defined != graph.defined_symbols.end()) {
        collect({defined->second}, graph, order, seen);
      } else if (seen.insert(symbol).second) {
        order.push_back(symbol);
      }
    }
  }
}

}  // namespace

SymbolValues small_sizes(const ir::Graph& graph, const std::map<std::string, std::int64_t>& given) {
  std::vector<Symbol> order;
  std::set<Symbol> seen;
  for (const ir::Input& input : graph.inputs) collect(graph.type(input.value).shape, graph, order, seen);
  for (const ir::Variable& variable : graph.variables) collect(graph.type(variable.value).shape, graph, order, seen);
  std::vector<std::string> names;
  for (const Symbol symbol : order) names.push_back(symbol.name());
  for (const auto& [name, size] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::string known = "help: sizes of this graph:";
    for (const std::string& other : names) known += " " + other;
    throw UserError(ExitCode::kUsage, "E0509 unknown-size", fmt::format("the graph has no size '{}'", name), {known});
  }
  SymbolValues values;
  std::size_t next = 0;
  for (const Symbol symbol : order) {
    const auto it = given.find(symbol.name());
    values[symbol] = it != given.end() ? it->second : kSizes[next++ % std::size(kSizes)];
  }
  for (const auto& [symbol, dim] : graph.defined_symbols) {
    const std::vector<Symbol> of = dim.symbols();
    if (std::all_of(of.begin(), of.end(), [&](Symbol s) { return values.count(s) != 0; }))
      values[symbol] = dim.evaluate(values);
  }
  return values;
}

Tensor random_feed(const FeedSpec& feed, const SymbolValues& sizes, std::uint64_t seed) {
  const Draws draws(feed.name, seed);
  const bool is_float = feed.dtype == DType::kFloat32 || feed.dtype == DType::kFloat64;
  Tensor tensor(is_float ? DType::kFloat64 : feed.dtype, evaluate(feed.shape, sizes));
  if (is_float) {
    fill_uniform(tensor, draws);
  } else if (feed.dtype == DType::kBool) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) tensor.data<std::uint8_t>()[i] = draws.below(i, 2) != 0;
  } else {
    std::int32_t* out = tensor.data<std::int32_t>();
    const std::int64_t longest = feed.lengths_of ? Dim(*feed.lengths_of).evaluate(sizes) : 0;
    const std::int64_t below = feed.below ? feed.below->evaluate(sizes) : kUnboundedBelow;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if (feed.lengths_of) {
        out[i] = static_cast<std::int32_t>(i == 0 ? longest : 1 + draws.below(i, longest));
      } else {
        out[i] = static_cast<std::int32_t>(draws.below(i, below));
      }
    }
  }
  return tensor;
}

Feeds random_feeds(const Program& program, const SymbolValues& sizes, std::uint64_t seed) {
  Feeds feeds;
  for (const FeedSpec& feed : program.feeds) feeds[feed.name] = random_feed(feed, sizes, seed);
  return feeds;
}

Tensor random_variable(const VariableSpec& variable, const SymbolValues& sizes, std::uint64_t seed) {
  Tensor tensor(variable.dtype, evaluate(variable.shape, sizes));
  if (variable.dtype != DType::kFloat64) return tensor;
  // Near a declared constant, and with its sign, so that divisions by it stay away from zero.
  const bool constant = variable.init_declared && variable.init == VariableSpec::Init::kConstant && variable.init_amount != 0;
  const double middle = constant ? variable.init_amount : 0;
  fill_uniform(tensor, Draws(variable.name, seed), middle, constant ? kWidth * std::min(1.0, std::abs(middle)) : kWidth);
  return tensor;
}

}  // namespace graphrun
