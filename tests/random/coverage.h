// What the generated graphs contained: for every op, in which kinds of loops it occurred.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/random/body.h"

namespace graphrun::random_graphs {

class Coverage {
 public:
  // Counts what a scan's outputs depend on, in its body and in the graphs that it calls.
  void scan(const Traits& traits, bool reverse, bool ragged);
  // Counts what all outputs of a graph, or of one that it calls, depend on.
  void graph(const Traits& traits);
  // Anything else: "repeat", "history".
  void seen(const std::string& what) { ++others_[what]; }
  std::int64_t times_seen(const std::string& what) const;
  void add(const Coverage& other);

  // One line per op with its number of graphs of each kind, then what never occurred.
  std::string table() const;
  // The pairs "op, kind" that no graph contained, over all ops that equations can name.
  std::set<std::string> missing() const;

 private:
  // All graphs, then the scans by every combination of: a state read before or after its step; forward or reverse; full or
  // ragged.
  static constexpr std::size_t kKinds = 9;
  static std::string kind(std::size_t k);

  std::vector<std::array<std::int64_t, kKinds>> counts_;  // by op number
  std::map<std::string, std::int64_t> others_;
};

}  // namespace graphrun::random_graphs
