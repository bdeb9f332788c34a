#include "tests/random/coverage.h"

#include <fmt/format.h>

#include "compiler/ir/op.h"

namespace graphrun::random_graphs {
namespace {

const char* const kKinds[] = {"graphs", "before", "after", "forward", "reverse", "ragged", "full"};

}  // namespace

void Coverage::scan(const std::set<std::string>& ops, const StateReads& reads, bool reverse, bool ragged) {
  for (const std::string& op : ops) {
    auto& of = counts_[op];
    if (reads.before) ++of["before"];
    if (reads.after) ++of["after"];
    ++of[reverse ? "reverse" : "forward"];
    ++of[ragged ? "ragged" : "full"];
  }
}

void Coverage::add(const Coverage& other) {
  for (const auto& [op, kinds] : other.counts_)
    for (const auto& [kind, n] : kinds) counts_[op][kind] += n;
  for (const auto& [what, n] : other.others_) others_[what] += n;
}

std::set<std::string> Coverage::missing() const {
  std::set<std::string> none;
  for (const ir::OpSchema* op : op_choices()) {
    const auto of = counts_.find(op->name);
    for (const char* kind : kKinds)
      if (of == counts_.end() || !of->second.count(kind)) none.insert(fmt::format("{} {}", op->name, kind));
  }
  return none;
}

std::string Coverage::table() const {
  std::string text = fmt::format("{:<16}", "op");
  for (const char* kind : kKinds) text += fmt::format("{:>9}", kind);
  text += "\n";
  for (const auto& [op, kinds] : counts_) {
    text += fmt::format("{:<16}", op);
    for (const char* kind : kKinds) text += fmt::format("{:>9}", kinds.count(kind) ? kinds.at(kind) : 0);
    text += "\n";
  }
  for (const auto& [what, n] : others_) text += fmt::format("{:<40}{:>9}\n", what, n);
  for (const std::string& pair : missing()) text += "never: " + pair + "\n";
  return text;
}

}  // namespace graphrun::random_graphs
