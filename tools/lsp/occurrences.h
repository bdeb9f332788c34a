// The names in a file and what each of them stands for: in graphs by the rules of the language, in jobs by the syntax of each
// field.
#pragma once

#include <compare>
#include <string>
#include <vector>

#include "tools/lsp/analysis.h"

namespace graphrun::lsp {

// What a name stands for, the same in every file that names it.
struct SymbolKey {
  enum class Kind {
    kName,    // an arg, import, input, parameter, state, equation or call of a graph
    kSize,    // a size of a graph that is none of these
    kOutput,  // an output of a graph
    kGraph,   // a graph itself; its `name` is empty for a file
    kField,   // of a job's data
    kReport,  // of a job
    kMode     // an infer block of a job
  } kind = Kind::kName;
  std::string graph;  // the file's path with links resolved; for a local graph followed by "#" and its name
  std::string name;
  friend auto operator<=>(const SymbolKey&, const SymbolKey&) = default;
};

struct Occurrence {
  Location at;  // of the name alone
  SymbolKey symbol;
  bool declares = false;
  // For a binding without "name =", whose one name stands for two things: whether this is what it binds, or what it reads.
  enum class Short { kNo, kBound, kRead } shortened = Short::kNo;
  std::size_t before = 0;  // of such a binding: the bytes of a dotted name before this part
};

// All of a file, in the order of the text where it has one.
std::vector<Occurrence> occurrences_of(const Analysis& analysis);

// The file of a symbol.
std::string file_of(const SymbolKey& symbol);

// The graph that an expression names in a definition; null if that is unknown.
const frontend::Definition* graph_named(const Analysis& analysis, const frontend::Definition& in, const ir::Expression& e);

// The definition around an offset of the file: the file's graph or a local one; null in a job.
const frontend::Definition* definition_at(const Analysis& analysis, std::size_t offset);

}  // namespace graphrun::lsp
