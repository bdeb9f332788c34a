#include "compiler/ir/reduction_program.h"

#include <algorithm>
#include <array>

namespace graphrun::ir {
namespace {

constexpr std::string_view kReturn = "return ";

std::string instruction(std::size_t i) { return "t" + std::to_string(i); }

}  // namespace

bool gives_position(std::string_view op) { return op == "argmax" || op == "argmin"; }

bool is_fold(std::string_view op) {
  constexpr std::array<std::string_view, 5> kNumbers = {"sum", "mean", "max", "min", "logsumexp"};
  return gives_position(op) || std::find(kNumbers.begin(), kNumbers.end(), op) != kNumbers.end();
}

std::string print(const ReductionProgram& program) {
  std::string text = print(program.program);
  text.resize(text.rfind(kReturn) + kReturn.size());
  for (std::size_t f = 0; f < program.folds.size(); ++f) {
    const ReductionProgram::Fold& fold = program.folds[f];
    text += (f ? ", " : "") + fold.op + "(" + instruction(program.program.results[fold.result]) + ")";
  }
  return text;
}

ReductionProgram parse_reduction_program(std::string_view text) {
  const auto check = [&](bool fits, const std::string& what) {
    if (!fits) throw InternalError("fused_reduction: " + what + " in: " + std::string(text));
  };
  const std::size_t end = text.rfind(kReturn);
  check(end != std::string_view::npos, "no return");
  ReductionProgram made;
  std::vector<std::string> results;  // the reduced values, each once: the results of the pointwise program
  std::string pointwise(text.substr(0, end + kReturn.size()));
  for (std::size_t at = end + kReturn.size(); at < text.size();) {
    const std::size_t open = text.find('(', at), close = text.find(')', at);
    check(open != std::string_view::npos && close != std::string_view::npos && open < close, "expected op(t0)");
    const std::string op(text.substr(at, open - at)), of(text.substr(open + 1, close - open - 1));
    check(is_fold(op), "expected a reduction, found '" + op + "'");
    auto result = std::find(results.begin(), results.end(), of);
    if (result == results.end()) {
      pointwise += (results.empty() ? "" : ", ") + of;
      result = results.insert(results.end(), of);
    }
    made.folds.push_back({op, static_cast<std::size_t>(result - results.begin())});
    at = close + 1;
    if (at == text.size()) break;
    check(text.substr(at, 2) == ", " && at + 2 < text.size(), "expected ', '");
    at += 2;
  }
  check(!made.folds.empty(), "nothing is reduced");
  made.program = parse_program(pointwise);
  return made;
}

}  // namespace graphrun::ir
