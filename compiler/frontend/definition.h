// A graph file after parsing: its messages, with every expression parsed, and with every name checked that can be checked
// without knowing the args.
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
  std::string of;  // dotted; empty for a plain parameter
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
  std::vector<ir::Binding> next;  // for carried values: the output (a name) that the next repetition takes
  std::optional<ir::Expression> lengths, times;
  bool reverse = false;
  std::string parameters;  // the name of a sibling call
  Location at;
};

// What a name in a definition refers to.
struct Member {
  enum class Kind : std::uint8_t { kImport, kArg, kInput, kParameter, kState, kEquation, kInstance } kind;
  std::size_t index = 0;   // in the vector of that kind
  std::size_t target = 0;  // kEquation: which result
};

struct Definition {
  std::string name, doc;
  std::string path;                   // from the graphs folder; for a local graph, that of its file
  const Definition* outer = nullptr;  // for a local graph
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
  // A call may have the name of the graph that it calls: `members` then has the call, and `statics` the import.
  std::map<std::string, Member, std::less<>> members;
  std::map<std::string, Member, std::less<>> statics;  // args and imports
  std::set<std::string, std::less<>> symbols;          // names of sizes that are not members
  // Names that could not be declared, with the first mistake of each: readers of these names report no further mistakes. Names
  // read in their declarations still count as read.
  std::map<std::string, std::shared_ptr<const Diagnostic>, std::less<>> refused;
  std::vector<ir::Expression> refused_reads;
  // What each equation and call here reads whatever the args are. It is evaluated first, so that a long chain does not need
  // deep recursion. The arguments of a call may turn out to be unnecessary, so calls are only examined if they form a long
  // chain.
  struct Read {
    bool instance = false;
    std::size_t index = 0;  // of the equation or the call
    std::string member;     // for a call: the output, or "end"
    friend auto operator<=>(const Read&, const Read&) = default;
  };
  std::vector<std::vector<Read>> equation_reads, instance_reads;
  bool long_chain = false;
  bool readable = true;  // every line of the file could be read; otherwise declarations and the meanings of names are not known

  const Member* member(std::string_view name) const;
  const Member* static_member(std::string_view name) const;  // an arg or an import
  bool is_refused(std::string_view name) const;              // and it is not a member
  bool is_outer_value(std::string_view name) const;          // a value of an enclosing graph, which this one does not see
  const Definition* local_graph(std::string_view name) const;
  const OutputDef* output(std::string_view name) const;
  bool has_arg(std::string_view name) const;  // an arg or an import
  bool has_input(std::string_view name) const;
  // "args (hidden, bias = false), inputs (x [batch, input]), outputs (h)": for messages.
  std::string signature() const;
};

// Reads a file's message. Appends every mistake to `diagnostics`, and suspicious things as warnings.
std::unique_ptr<Definition> read_definition(const graphrun::Graph& message, const Places& places, const std::string& path,
                                            std::vector<Diagnostic>& diagnostics);

// Finds the symbols, then checks all names that do not depend on args: reports unknown names and ops, and unread declarations.
void resolve_names(Definition& definition, std::vector<Diagnostic>& diagnostics);

}  // namespace frontend
}  // namespace graphrun
