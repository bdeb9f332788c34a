#include "ops/generated/reduction_text.h"

#include <fmt/format.h>

namespace graphrun {
namespace {

// How a fold's value is computed from an element x, how two are joined, and how the result is read at the end.
struct FoldText {
  std::string type, start, one, join, end;
};

FoldText fold_text(ir::FoldKind kind, const std::string& type) {
  using Kind = ir::FoldKind;
  switch (kind) {
    case Kind::kSum: return {type, type + "(0)", "x", "a + b", "v"};
    case Kind::kMean: return {type, type + "(0)", "x", "a + b", "c.n > 1 ? v / " + type + "(c.n) : v"};
    case Kind::kLogSumExp:
      return {"cuda::LogSum<" + type + ">", "{-element::infinity(" + type + "(0)), 0}", "cuda::log_sum_of(x)",
              "cuda::joined(a, b)", "cuda::logarithm(v, c.n)"};
    default: break;  // an extreme, or its position
  }
  return {"cuda::Best<" + type + ">", "{0, -1}", "{x, position}",
          seeks_greatest(kind) ? "cuda::better<true>(a, b)" : "cuda::better<false>(a, b)",
          gives_position(kind) ? "std::int32_t(v.position < 0 ? 0 : v.position)" : "v.value"};
}

// The parts of a text with folds.
struct FoldTexts {
  std::string values;  // struct Value, and put_together(left, right)
  std::string start;   // a Value's members before the first element
  std::string take;    // sets `one` to the Value of the single element at `position`, given its results
  std::string write;   // writes `total`, the value of column `c`
};
FoldTexts fold_texts(const DeviceCode& code, const KernelFolds& folds, const std::vector<std::string>& targets,
                     Comments comments) {
  FoldTexts texts;
  std::string value, join;
  for (std::size_t i = 0; i < folds.folds.size(); ++i) {
    const std::string type = code.type_of_result(folds.folds[i].result);
    const FoldText fold = fold_text(folds.folds[i].kind, type);
    value += fmt::format("  alignas({}) {} v{};\n", kFoldBytes, fold.type, i);
    texts.start += fmt::format("{}{}", i == 0 ? "" : ", ", fold.start);
    join += fmt::format("  {{\n    const {} a = left.v{}, b = right.v{};\n    out.v{} = {};\n  }}\n", fold.type, i, i, i,
                        fold.join);
    const std::string comment = equation_comment(folds.origin(i).at, "", comments);
    texts.take += fmt::format("        {{\n          const {0} x = results.{1}.v[j];\n          one.v{2} = {3};\n        }}\n",
                              type, code.result_name(folds.folds[i].result), i, fold.one);
    texts.write += (comment.empty() ? "" : "  " + comment) +
                   fmt::format("  {{\n    const {} v = total.v{};\n    arguments.{}[c.result] = {};\n  }}\n", fold.type, i,
                               targets[i], fold.end);
  }
  texts.values = "\nstruct Value {\n" + value +
                 "};\n\nGRAPHRUN_DEVICE Value put_together(const Value& left, const Value& right) {\n  Value out;\n" + join +
                 "  return out;\n}\n";
  return texts;
}

}  // namespace

ReductionArguments reduction_arguments(const DeviceCode& code, const KernelFolds& folds, const AxisView& view,
                                       std::int64_t repeat) {
  ReductionArguments made{code.arguments(), {}, {}, {}, "Lengths{nullptr, 1, arguments.view.n}"};
  if (repeat == 0 && view.inner == 1 && view.n % 4 == 0 && code.width() == 4) made.together = 4;
  Identifiers names = code.names();
  for (std::size_t i = 0; i < folds.folds.size(); ++i) {
    const std::string type = gives_position(folds.folds[i].kind) ? "std::int32_t" : code.type_of_result(folds.folds[i].result);
    const std::string name = folds.origin(i).name;
    made.targets.push_back(names.take(name.empty() ? fmt::format("y{}", i) : "to_" + identifier(name)));
    made.results.push_back(made.layout.add_address(made.targets.back(), type));
  }
  made.layout.add("view", view);
  if (repeat > 0) {
    const std::string lengths = names.take("lengths"), results = names.take("results_of_length");
    made.lengths = made.layout.add_address(lengths, "const std::int32_t");
    made.layout.add(results, repeat);
    made.columns = fmt::format("Lengths{{arguments.{}, arguments.{}, arguments.view.n}}", lengths, results);
  }
  return made;
}

namespace {

const std::string kReductionIncludes = std::string(kDeviceIncludes) + "#include \"ops/reduce/column_folds.h\"\n";

std::string reduction_body(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments,
                           Comments comments) {
  GRAPHRUN_CHECK(folds.folds.size() <= kFoldsOfKernel, "too many folds for one kernel");
  const FoldTexts texts = fold_texts(code, folds, arguments.targets, comments);
  std::string body = kTextBegin + code.index_type() + arguments.layout.text() + "\n" + code.functions(comments) + texts.values;
  body += R"x(
GRAPHRUN_DEVICE void write(const Arguments& arguments, const cuda::Column& c, const Value& total) {
)x" + texts.write +
          R"x(}

template <int width>
GRAPHRUN_DEVICE void fold(const Arguments& arguments) {
  constexpr int kTogether = )x" +
          std::to_string(arguments.together) + R"x(;
  const Lengths lengths = )x" +
          arguments.columns + R"x(;
  Value* const parts = static_cast<Value*>(arguments.parts);
  const Value start = {)x" +
          texts.start + R"x(};
  cuda::fold_columns<kTogether>(
      arguments.grid, arguments.view, lengths, parts, arguments.joins, start,
      [&](const Value& before, std::int64_t at, std::int64_t first) {
        Value so_far = before;
        GRAPHRUN_UNROLL
        for (int i = 0; i < kTogether; i += width) {
          const Results<width> results = compute<width>(arguments, static_cast<Index>(at + i));
          GRAPHRUN_UNROLL
          for (int j = 0; j < width; ++j) {
            const std::int64_t position = first + i + j;
            Value one;
)x" + texts.take +
          R"x(            so_far = put_together(so_far, one);
          }
        }
        return so_far;
      },
      [](const Value& left, const Value& right) { return put_together(left, right); },
      [&](const cuda::Column& c, const Value& total) { write(arguments, c, total); });
}

GRAPHRUN_ENTRY(graphrun_@, Arguments) { )x" +
          (arguments.together == 1 ? "fold<1>(arguments);" : "arguments.wide ? fold<4>(arguments) : fold<1>(arguments);") +
          R"x( }

}  // namespace graphrun::generated_@
)x";
  return body;
}

}  // namespace

DeviceText reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments) {
  return named_text(kReductionIncludes, reduction_body(code, folds, arguments, Comments::kNone));
}

std::string commented_reduction_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments) {
  return commented_text(kReductionIncludes, reduction_body(code, folds, arguments, Comments::kNone),
                        reduction_body(code, folds, arguments, Comments::kEquations));
}

std::string reduced_element_text(const DeviceCode& code, const KernelFolds& folds, const ReductionArguments& arguments,
                                 Comments comments) {
  const FoldTexts texts = fold_texts(code, folds, arguments.targets, comments);
  return code.index_type() + arguments.layout.text() + "\n" + code.functions(comments) + texts.values + R"x(
GRAPHRUN_DEVICE void one(const Arguments& arguments, std::int64_t e, const loop::Fault&) {
  const loop::ReducedColumn c(arguments.view, e);
  Value total{)x" +
         texts.start + R"x(};
  for (std::int64_t position = 0; position < c.n; ++position) {
        const Results<1> results = compute<1>(arguments, static_cast<Index>(c.at(position)));
        constexpr int j = 0;
        Value one;
)x" + texts.take +
         R"x(    total = put_together(total, one);
  }
)x" + texts.write +
         "}\n";
}

}  // namespace graphrun
