// What generated graphs held: for every op, in what kinds of loops it stood.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tests/random/body.h"

namespace graphrun::random_graphs {

class Coverage {
 public:
  // Ops that stand in a scan's body, or in what it calls.
  void scan(const std::set<std::string>& ops, const StateReads& reads, bool reverse, bool ragged);
  void graph(const std::set<std::string>& ops) {
    for (const std::string& op : ops) ++counts_[op]["graphs"];
  }
  // Anything else: "repeat", "history".
  void seen(const std::string& what) { ++others_[what]; }
  void add(const Coverage& other);

  // A line for each op and its number of graphs with each, then what was never seen.
  std::string table() const;
  // Pairs "op, kind" that no graph had, of all ops that equations can name.
  std::set<std::string> missing() const;

 private:
  std::map<std::string, std::map<std::string, std::int64_t>> counts_;
  std::map<std::string, std::int64_t> others_;
};

}  // namespace graphrun::random_graphs
