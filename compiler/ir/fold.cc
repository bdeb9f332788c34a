#include "compiler/ir/fold.h"

#include <algorithm>
#include <array>

namespace graphrun::ir {
namespace {

// In the order of FoldKind.
constexpr std::array<std::string_view, 7> kNames = {"sum", "mean", "max", "min", "logsumexp", "argmax", "argmin"};

}  // namespace

std::string_view name_of(FoldKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

std::optional<FoldKind> fold_named(std::string_view op) {
  const auto at = std::find(kNames.begin(), kNames.end(), op);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<FoldKind>(at - kNames.begin());
}

}  // namespace graphrun::ir
