// Random inputs and variables for any program, from seeds.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "runtime/execute/executable.h"
#include "runtime/execute/feeds.h"
#include "runtime/program/program.h"

namespace graphrun::random_graphs {

class Data {
 public:
  // `sizes`: of symbols by name; `other`: of all other symbols.
  Data(std::map<std::string, std::int64_t> sizes, std::uint64_t seed, std::int64_t other = 3)
      : sizes_(std::move(sizes)), seed_(seed), other_(other) {}

  SymbolValues symbols(const Shape& shape) const;
  // Numbers in [-1, 1]; positions and lengths in their ranges.
  Feeds feeds(const Program& program) const;
  void set_parameters(const Program& program, Variables& variables) const;

 private:
  std::int64_t size_of(const std::string& symbol) const;

  std::map<std::string, std::int64_t> sizes_;
  std::uint64_t seed_;
  std::int64_t other_;
};

}  // namespace graphrun::random_graphs
