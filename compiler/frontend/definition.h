// A graph file, read: its messages with every expression parsed and every name checked that can be checked without knowing
// args.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontend/source.h"
#include "compiler/ir/expression.h"
#include "compiler/ir/graph.h"

namespace graphrun {

class Graph;  // the message, graphs/graph.pb.h

namespace frontend {

struct Definition;

struct ImportDef {
  std::string name;
  ir::Expression value;  // kGraph
  Location at;
};

struct ArgDef {
  std::string name, doc;
  std::optional<ir::Expression> default_value;
  Location at;
};

struct InputDef {
  std::string name, doc;
  std::vector<ir::Expression> shape;
  Type type = Type::kFloat;
  std::optional<ir::Expression> below;
  std::string lengths_of;
  Location at;
};

struct ParameterDef {
  std::string name, doc;
  std::vector<ir::Expression> shape;
  std::string of;  // dotted; empty: a plain parameter
  std::optional<ir::Initializer> init;
  bool trainable = true;
  Location at;
};

struct StateDef {
  std::string name, doc;
  std::vector<ir::Expression> shape;
  std::string of;
  Type type = Type::kFloat;
  std::optional<ir::Expression> begin, next;
  Location at;
};

struct OutputDef {
  std::string name;
  ir::Expression value;
  Location at;
};

struct InstanceDef {
  enum class Kind : std::uint8_t { kCall, kScan, kRepeat } kind = Kind::kCall;
  std::string name;
  ir::Expression graph;  // a name, or a path
  std::vector<ir::Binding> args, inputs, begins, each, carry;
  std::vector<ir::Binding> next;  // of what is carried: the output, a name, that the next repetition takes
  std::optional<ir::Expression> lengths, times;
  bool reverse = false;
  std::string parameters;  // of a sibling, by name
  Location at;
};

// Where a name of a definition leads.
struct Member {
  enum class Kind : std::uint8_t { kImport, kArg, kInput, kParameter, kState, kEquation, kInstance } kind;
  std::size_t index = 0;   // in the vector of that kind
  std::size_t target = 0;  // kEquation: which result
};

struct Definition {
  std::string name, doc;
  std::string path;                   // from the folder graphs; of a local graph, of its file
  const Definition* outer = nullptr;  // of a local graph
  Location at;
  std::vector<ImportDef> imports;
  std::vector<ArgDef> args;
  std::vector<InputDef> inputs;
  std::vector<ParameterDef> parameters;
  std::vector<ir::Equation> equations;
  std::vector<StateDef> states;
  std::vector<OutputDef> outputs;
  std::vector<InstanceDef> instances;
  std::vector<std::unique_ptr<Definition>> graphs;
  // A call may go by the name of the graph that it calls: `members` then has the call, `statics` the import.
  std::map<std::string, Member, std::less<>> members;
  std::map<std::string, Member, std::less<>> statics;  // args and imports
  std::set<std::string, std::less<>> symbols;          // names of sizes that are no members
  // Names of what could not be declared, with the first mistake of each: what reads them makes none of its own. What their
  // declarations read is read all the same.
  std::map<std::string, std::shared_ptr<const Diagnostic>, std::less<>> refused;
  std::vector<ir::Expression> refused_reads;
  // What each equation, and each call, reads here whatever the args are: evaluated first, so that a long chain needs no deep
  // stack. What a call is given may turn out not to be needed: calls are looked through only where they make a long chain.
  struct Read {
    bool instance = false;
    std::size_t index = 0;  // of the equation or the call
    std::string member;     // of a call: the output, or "end"
    friend auto operator<=>(const Read&, const Read&) = default;
  };
  std::vector<std::vector<Read>> equation_reads, instance_reads;
  bool long_chain = false;
  bool readable = true;  // every line of the file: else what is declared, and which names mean what, is not known

  const Member* member(std::string_view name) const;
  const Member* static_member(std::string_view name) const;  // an arg or an import
  bool is_refused(std::string_view name) const;              // and no member
  bool is_outer_value(std::string_view name) const;          // of a graph around this one, whose values it does not see
  const Definition* local_graph(std::string_view name) const;
  const OutputDef* output(std::string_view name) const;
  bool has_arg(std::string_view name) const;  // an arg or an import
  bool has_input(std::string_view name) const;
  // "args (hidden, bias = false), inputs (x [batch, input]), outputs (h)": for messages.
  std::string signature() const;
};

// Reads what a file's message says. Every mistake is appended to `diagnostics`; what is only suspicious too, as a warning.
std::unique_ptr<Definition> read_definition(const graphrun::Graph& message, const Places& places, const std::string& path,
                                            std::vector<Diagnostic>& diagnostics);

// Finds the symbols, then checks every name that needs no args: unknown names and ops, and what nothing reads.
void resolve_names(Definition& definition, std::vector<Diagnostic>& diagnostics);

}  // namespace frontend
}  // namespace graphrun
