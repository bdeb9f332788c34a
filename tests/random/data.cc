#include "tests/random/data.h"

#include <functional>

#include "tests/draw.h"

namespace graphrun::random_graphs {

std::int64_t Data::size_of(const std::string& symbol) const {
  const auto found = sizes_.find(symbol);
  return found != sizes_.end() ? found->second : other_;
}

SymbolValues Data::symbols(const Shape& shape) const {
  SymbolValues values;
  for (const Dim& dim : shape)
    for (const Symbol s : dim.symbols()) values[s] = size_of(s.name());
  return values;
}

Feeds Data::feeds(const Program& program) const {
  Feeds feeds;
  for (const FeedSpec& feed : program.feeds) {
    tests::Draw draw(seed_ ^ std::hash<std::string>()(feed.name));
    const bool is_float = feed.dtype == DType::kFloat32 || feed.dtype == DType::kFloat64;
    Tensor tensor(is_float ? DType::kFloat64 : feed.dtype, evaluate(feed.shape, symbols(feed.shape)));
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      if (is_float) {
        tensor.data<double>()[i] = draw.unit() * 2 - 1;
      } else if (feed.dtype == DType::kBool) {
        tensor.data<std::uint8_t>()[i] = draw.chance(0.5);
      } else {
        std::int64_t most = 3;
        if (feed.below) most = feed.below->evaluate(symbols({*feed.below}));
        if (feed.lengths_of) most = size_of(feed.lengths_of->name()) + 1;
        tensor.data<std::int32_t>()[i] = most < 1 ? 0 : static_cast<std::int32_t>(draw.below(static_cast<std::size_t>(most)));
      }
    }
    feeds[feed.name] = tensor;
  }
  return feeds;
}

void Data::set_parameters(const Program& program, Variables& variables) const {
  for (const VariableSpec& spec : program.variables) {
    if (spec.kind != VariableSpec::Kind::kParameter || variables.has(spec.name)) continue;
    tests::Draw draw(seed_ ^ std::hash<std::string>()(spec.name));
    Tensor tensor(DType::kFloat64, evaluate(spec.shape, {}));
    for (double& x : tensor.span<double>()) x = draw.unit() * 1.6 - 0.8;
    variables.set(spec.name, tensor.converted(spec.dtype));
  }
}

}  // namespace graphrun::random_graphs
