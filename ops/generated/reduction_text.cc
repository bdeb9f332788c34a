#include "ops/generated/reduction_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace graphrun {
namespace {

// The text of a fold: its value at the start, with an element `x` added to `a`, with two joined, and the result at the end.
struct FoldText {
  std::string type, start, take, join, end;
};

// `position`: the type in which positions are counted.
FoldText fold_text(ir::FoldKind kind, const std::string& type, const std::string& position) {
  using Kind = ir::FoldKind;
  switch (kind) {
    case Kind::kSum: return {type, type + "(0)", "a + x", "a + b", "v"};
    case Kind::kMean: return {type, type + "(0)", "a + x", "a + b", "c.n > 1 ? v / " + type + "(c.n) : v"};
    case Kind::kLogSumExp:
      return {"cuda::LogSum<" + type + ">", "{-element::infinity(" + type + "(0)), 0}", "cuda::joined(a, cuda::log_sum_of(x))",
              "cuda::joined(a, b)", "cuda::logarithm(v, c.n)"};
    default: break;  // an extreme, or its position
  }
  const char* const greatest = seeks_greatest(kind) ? "true" : "false";
  return {fmt::format("cuda::Best<{}, {}>", type, position), "{0, -1}",
          fmt::format("cuda::better_of_next<{}>(a, x, position)", greatest), fmt::format("cuda::better<{}>(a, b)", greatest),
          gives_position(kind) ? "std::int32_t(v.position < 0 ? 0 : v.position)" : "v.value"};
}

// The index of the first fold whose value also gives the result of fold i: an extreme and its position are found together.
std::size_t value_of(const std::vector<ir::Fold>& folds, std::size_t i) {
  const auto is_extreme = [](ir::FoldKind kind) { return !adds_up(kind) && kind != ir::FoldKind::kLogSumExp; };
  for (std::size_t j = 0; j < i; ++j) {
    if (folds[j].result == folds[i].result && is_extreme(folds[i].kind) && is_extreme(folds[j].kind) &&
        seeks_greatest(folds[i].kind) == seeks_greatest(folds[j].kind))
      return j;
  }
  return i;
}

// The parts of a text with folds.
struct FoldTexts {
  std::string values;  // struct Value, and put_together(left, right)
  std::string start;   // a Value's members before the first element
  std::string take;    // adds to Value `so_far` the element at `position`, the j-th of its results
  std::string write;   // writes `total`, the value of column `c`
  std::string others;  // a Value's members in another thread of the warp
};
FoldTexts fold_texts(const DeviceCode& code, const KernelFolds& folds, const std::vector<std::string>& targets,
                     Comments comments, const std::string& position = "std::int64_t") {
  FoldTexts texts;
  std::string value, join;
  for (std::size_t i = 0; i < folds.folds.size(); ++i) {
    const std::string type = code.type_of_result(folds.folds[i].result);
    const FoldText fold = fold_text(folds.folds[i].kind, type, position);
    const std::size_t of = value_of(folds.folds, i);
    if (of == i) {
      const char* const comma = i == 0 ? "" : ", ";
      value += fmt::format("  alignas({}) {} v{};\n", kFoldBytes, fold.type, i);
      texts.start += comma + fold.start;
      texts.others += fmt::format("{}cuda::of_other(mine.v{}, distance)", comma, i);
      join += fmt::format("  {{\n    const {} a = left.v{}, b = right.v{};\n    out.v{} = {};\n  }}\n", fold.type, i, i, i,
                          fold.join);
      texts.take += fmt::format(
          "    {{\n      const {0} a = so_far.v{1};\n      const {2} x = results.{3}.v[j];\n"
          "      so_far.v{1} = {4};\n    }}\n",
          fold.type, i, type, code.result_name(folds.folds[i].result), fold.take);
    }
    const std::string comment = equation_comment(folds.origin(i).at, "", comments);
    texts.write += (comment.empty() ? "" : "  " + comment) +
                   fmt::format("  {{\n    const {} v = total.v{};\n    arguments.{}[c.result] = {};\n  }}\n", fold.type, of,
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

// Lines, each eight columns further to the right.
std::string deeper(const std::string& lines) {
  std::string text;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size() - 1) + 1;
    text += "        " + lines.substr(begin, end - begin);
    begin = end;
  }
  return text;
}

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
      [&](Value so_far, std::int64_t at, std::int64_t first) {
        GRAPHRUN_UNROLL
        for (int i = 0; i < kTogether; i += width) {
          const Results<width> results = compute<width>(arguments, static_cast<Index>(at + i));
          GRAPHRUN_UNROLL
          for (int j = 0; j < width; ++j) {
            const std::int64_t position = first + i + j;
)x" + deeper(texts.take) +
          R"x(          }
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
                                 const LaneColumns& columns, Comments comments) {
  const FoldTexts texts = fold_texts(code, folds, arguments.targets, comments, "std::int32_t");
  std::string text = code.index_type() + arguments.layout.text() + "\n" + code.functions(comments) + texts.values + R"x(
GRAPHRUN_DEVICE Value of_other(const Value& mine, int distance) { return {)x" +
                     texts.others + R"x(}; }

GRAPHRUN_DEVICE void one(const Arguments& arguments, std::int64_t e, int lane, bool writes) {
  const loop::ReducedColumn<Index> c(arguments.view, static_cast<Index>(e));
  Value so_far{)x" + texts.start +
                     "};\n";
  const std::vector<std::int64_t> steps = columns.fixed ? code.steps_along(*columns.fixed) : std::vector<std::int64_t>{};
  std::string results = "compute<1>(arguments, c.at(position))", of_lane, of_turn;
  if (!steps.empty()) {
    // Positions differ by a constant distance in each operand, so that nothing is divided in the loop.
    of_lane = "  Arguments of_lane = arguments;\n", of_turn = "    Arguments here = of_lane;\n";
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (steps[k] == 0) continue;
      of_lane += fmt::format("  of_lane.{} += lane * {};\n", code.input_name(k), steps[k]);
      of_turn += fmt::format("    here.{} += turn * {};\n", code.input_name(k), columns.lanes * steps[k]);
    }
    results = "compute<1>(here, c.begin)";
  }
  const std::string head = fmt::format("  for (std::int32_t turn = 0; turn < c.turns({}); ++turn) {{\n", columns.lanes);
  text += of_lane + unrolled(columns.fixed ? (columns.fixed->n + columns.lanes - 1) / columns.lanes : 0) + head +
          fmt::format("    const std::int32_t position = turn * {} + lane;\n    if (position >= c.n) break;\n", columns.lanes) +
          of_turn + "    const Results<1> results = " + results + ";\n    constexpr int j = 0;\n" + texts.take + "  }\n";
  return text + fmt::format("  const Value total = loop::joined<{}>(so_far);\n  if (!writes) return;\n", columns.lanes) +
         texts.write + "}\n";
}

std::string unrolled(std::int64_t turns) {
  constexpr std::int64_t kTogether = 8;
  return turns > 0 && turns <= kTogether ? "  GRAPHRUN_UNROLL\n" : fmt::format("  GRAPHRUN_UNROLL_BY({})\n", kTogether);
}

}  // namespace graphrun
