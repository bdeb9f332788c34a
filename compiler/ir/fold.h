// The reductions that a pointwise program may end with (compiler/ir/pointwise_program.h). Passes, kernels and generated code
// of every device use these types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace graphrun::ir {

enum class FoldKind : std::uint8_t { kSum, kMean, kMax, kMin, kLogSumExp, kArgMax, kArgMin };

// A reduction of one of a program's results.
struct Fold {
  FoldKind kind = FoldKind::kSum;
  std::size_t result = 0;  // which of the program's results is reduced
  friend bool operator==(const Fold&, const Fold&) = default;
};

// The op that computes the reduction by itself: "sum", "argmax".
std::string_view name_of(FoldKind kind);
// nullopt if no reduction has that name.
std::optional<FoldKind> fold_named(std::string_view op);

// Whether the result is a position (INT32) rather than a number.
constexpr bool gives_position(FoldKind kind) { return kind == FoldKind::kArgMax || kind == FoldKind::kArgMin; }
// Whether the result is, or belongs to, the greatest element.
constexpr bool seeks_greatest(FoldKind kind) { return kind == FoldKind::kMax || kind == FoldKind::kArgMax; }
// Whether elements are added up.
constexpr bool adds_up(FoldKind kind) { return kind == FoldKind::kSum || kind == FoldKind::kMean; }

}  // namespace graphrun::ir
