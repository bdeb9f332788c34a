#include "compiler/ir/fold.h"

#include <algorithm>
#include <array>

namespace graphrun::ir {
namespace {

struct Named {
  FoldKind kind;
  std::string_view name;
};
constexpr std::array<Named, 7> kNames = {{{FoldKind::kSum, "sum"},
                                          {FoldKind::kMean, "mean"},
                                          {FoldKind::kMax, "max"},
                                          {FoldKind::kMin, "min"},
                                          {FoldKind::kLogSumExp, "logsumexp"},
                                          {FoldKind::kArgMax, "argmax"},
                                          {FoldKind::kArgMin, "argmin"}}};

}  // namespace

std::string_view name_of(FoldKind kind) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const Named& n) { return n.kind == kind; })->name;
}

std::optional<FoldKind> fold_named(std::string_view op) {
  const auto at = std::find_if(kNames.begin(), kNames.end(), [&](const Named& n) { return n.name == op; });
  if (at == kNames.end()) return std::nullopt;
  return at->kind;
}

}  // namespace graphrun::ir
