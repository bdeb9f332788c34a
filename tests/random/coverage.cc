#include "tests/random/coverage.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/ir/op.h"

namespace graphrun::random_graphs {

std::string Coverage::kind(std::size_t k) {
  if (k == 0) return "graphs";
  --k;
  return fmt::format("{}{}{}", k & 4 ? "after" : "before", k & 2 ? "-reverse" : "", k & 1 ? "-ragged" : "");
}

void Coverage::scan(const Traits& traits, bool reverse, bool ragged) {
  counts_.resize(op_choices().size());
  for (std::size_t op = 0; op < counts_.size(); ++op) {
    if (!traits[op]) continue;
    for (const std::size_t after : {0, 1}) {
      if (traits[after ? kReadsAfter : kReadsBefore]) ++counts_[op][1 + 4 * after + (reverse ? 2 : 0) + (ragged ? 1 : 0)];
    }
  }
}

void Coverage::graph(const Traits& traits) {
  counts_.resize(op_choices().size());
  for (std::size_t op = 0; op < counts_.size(); ++op) counts_[op][0] += traits[op] ? 1 : 0;
}

std::int64_t Coverage::times_seen(const std::string& what) const {
  const auto found = others_.find(what);
  return found == others_.end() ? 0 : found->second;
}

void Coverage::add(const Coverage& other) {
  counts_.resize(std::max(counts_.size(), other.counts_.size()));
  for (std::size_t op = 0; op < other.counts_.size(); ++op)
    for (std::size_t k = 0; k < kKinds; ++k) counts_[op][k] += other.counts_[op][k];
  for (const auto& [what, n] : other.others_) others_[what] += n;
}

std::set<std::string> Coverage::missing() const {
  std::set<std::string> none;
  for (std::size_t op = 0; op < op_choices().size(); ++op) {
    for (std::size_t k = 0; k < kKinds; ++k)
      if (op >= counts_.size() || counts_[op][k] == 0) none.insert(op_choices()[op]->name + " " + kind(k));
  }
  return none;
}

std::string Coverage::table() const {
  std::string text = fmt::format("{:<16}", "op");
  for (std::size_t k = 0; k < kKinds; ++k) text += fmt::format("{:>{}}", kind(k), kind(k).size() + 1);
  text += "\n";
  for (std::size_t op = 0; op < counts_.size(); ++op) {
    text += fmt::format("{:<16}", op_choices()[op]->name);
    for (std::size_t k = 0; k < kKinds; ++k) text += fmt::format("{:>{}}", counts_[op][k], kind(k).size() + 1);
    text += "\n";
  }
  for (const auto& [what, n] : others_) text += fmt::format("{:<40}{:>9}\n", what, n);
  for (const std::string& pair : missing()) text += "never: " + pair + "\n";
  return text;
}

}  // namespace graphrun::random_graphs
