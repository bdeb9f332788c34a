// What generated graphs held: for every op, in what kinds of loops it stood.
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
  // What a scan's outputs are made of, in its body and in what that calls.
  void scan(const Traits& traits, bool reverse, bool ragged);
  // What all outputs of a graph, or of one that it calls, are made of.
  void graph(const Traits& traits);
  // Anything else: "repeat", "history".
  void seen(const std::string& what) { ++others_[what]; }
  std::int64_t times_seen(const std::string& what) const;
  void add(const Coverage& other);

  // A line for each op and its number of graphs with each, then what was never seen.
  std::string table() const;
  // Pairs "op, kind" that no graph had, of all ops that equations can name.
  std::set<std::string> missing() const;

 private:
  // The graphs, then the scans by all of: a state is read before or after its step; forward or in reverse; full or ragged.
  static constexpr std::size_t kKinds = 9;
  static std::string kind(std::size_t k);

  std::vector<std::array<std::int64_t, kKinds>> counts_;  // by the op's number
  std::map<std::string, std::int64_t> others_;
};

}  // namespace graphrun::random_graphs
