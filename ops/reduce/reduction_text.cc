#include "ops/reduce/reduction_text.h"

#include <fmt/format.h>

#include "compiler/ir/reduction_program.h"

namespace graphrun {
namespace {

// How a fold's value is made of an element x, joined, and read at the end.
struct FoldText {
  std::string type, start, one, join, end;
};

FoldText fold_text(const std::string& op, const std::string& type) {
  if (op == "sum") return {type, type + "(0)", "x", "a + b", "v"};
  if (op == "mean") return {type, type + "(0)", "x", "a + b", "c.n > 1 ? v / " + type + "(c.n) : v"};
  if (op == "logsumexp") {
    return {"cuda::LogSum<" + type + ">", "{-element::infinity(" + type + "(0)), 0}", "cuda::log_sum_of(x)",
            "cuda::joined(a, b)", "cuda::logarithm(v, c.n)"};
  }
  const std::string best = "cuda::Best<" + type + ">";
  const bool most = op == "max" || op == "argmax";
  GRAPHRUN_CHECK(most || op == "min" || op == "argmin", "no fold '" + op + "'");
  return {best, "{0, -1}", "{x, position}", most ? "cuda::better<true>(a, b)" : "cuda::better<false>(a, b)",
          ir::gives_position(op) ? "std::int32_t(v.position < 0 ? 0 : v.position)" : "v.value"};
}

}  // namespace

DeviceText reduction_text(const DeviceCode& code, std::span<const DeviceFold> folds) {
  GRAPHRUN_CHECK(folds.size() <= kMostFolds, "too many folds for one kernel");
  std::string body = kTextBegin + code.begin();
  std::string value, start, take, join, write;
  for (std::size_t i = 0; i < folds.size(); ++i) {
    const std::string type = code.type_of_result(folds[i].result);
    const FoldText fold = fold_text(folds[i].op, type);
    const bool position = ir::gives_position(folds[i].op);
    body += fmt::format("  {}* y{};\n", position ? "std::int32_t" : type, i);
    value += fmt::format("  alignas({}) {} v{};\n", kFoldBytes, fold.type, i);
    start += fmt::format("{}{}", i == 0 ? "" : ", ", fold.start);
    join += fmt::format("  {{\n    const {} a = left.v{}, b = right.v{};\n    out.v{} = {};\n  }}\n", fold.type, i, i, i,
                        fold.join);
    take += fmt::format("        {{\n          const {0} x = r.r{1}.v[0];\n          one.v{2} = {3};\n        }}\n", type,
                        folds[i].result, i, fold.one);
    write +=
        fmt::format("  {{\n    const {} v = total.v{};\n    arguments.y{}[c.result] = {};\n  }}\n", fold.type, i, i, fold.end);
  }
  body += "  AxisView view;\n  ColumnGrid grid;\n};\n\n" + code.functions();
  body += "\nstruct Value {\n" + value + "};\n\nGRAPHRUN_DEVICE Value put_together(const Value& left, const Value& right) {\n";
  body += "  Value out;\n" + join + "  return out;\n}\n";
  body += R"x(
GRAPHRUN_ENTRY(graphrun_@, Arguments) {
  const cuda::Column c(arguments.grid, arguments.view, Lengths{nullptr, 1, arguments.view.n});
  const Value total = c.fold(
      Value{)x" +
          start + R"x(},
      [&](const Value& so_far, std::int64_t at, std::int64_t position) {
        const Results<1> r = compute<1>(arguments, static_cast<Index>(at));
        Value one;
)x" + take +
          R"x(        return put_together(so_far, one);
      },
      [](const Value& left, const Value& right) { return put_together(left, right); });
  if (!c.leads()) return;
)x" + write +
          R"x(}

}  // namespace graphrun::generated_@
)x";
  return named_text(std::string(kDeviceIncludes) + "#include \"ops/reduce/column_folds.h\"\n", body);
}

}  // namespace graphrun
