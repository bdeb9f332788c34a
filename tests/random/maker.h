// Writes one random graph: the root and the graphs that it calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/substitute.h"
#include "tests/draw.h"
#include "tests/random/body.h"
#include "tests/random/generator.h"

namespace graphrun::random_graphs {

struct Port {
  std::string name;
  ir::TensorType type;
  std::int64_t below = 0;
  bool lengths = false;
};

// A value that a call may pass to an arg.
struct Argument {
  std::string name;
  enum class Kind { kWidth, kFactor, kFlag, kGraph } kind = Kind::kWidth;
  std::string given;  // the value, if all calls that pass it must agree; empty: each call chooses
};

// A graph inside the file that others call.
struct Local {
  std::string name, text;
  std::vector<Port> inputs, outputs;
  std::vector<Port> states;         // its own
  std::vector<Port> leaves;         // its own and those of the graphs it calls, by path
  std::vector<Argument> arguments;  // all have defaults
  std::set<std::size_t> calls;      // other graphs of the file that it names
  std::set<std::size_t> handed;     // graphs that its callers pass to it
  bool forward_only = false;        // it counts its steps
  bool rows = true;                 // all outputs and states, including those of graphs it calls, have a batch axis
  bool reads_file = false;          // it reads args of the enclosing file
  std::string carry;                // the input that each repetition takes from the one before
  std::string carried_as;           // the output that it takes, of the same type
  Traits traits;                    // of its outputs
};

struct Around {
  int depth = 0;
  bool scanned = false;  // a scan runs it
  bool rows = false;     // all outputs and states must have a batch axis
  bool root = false;
  bool cell = false;                          // all its states have the same type, FLOAT
  std::optional<ir::TensorType> wanted = {};  // one output, "wanted", has this type
};

class Maker {
 public:
  explicit Maker(std::uint64_t seed);
  Generated make();

 private:
  // maker.cc: a graph's states, equations and outputs.
  std::vector<Port> root_inputs();
  void fill(Body& body, Local& local, const Around& around);
  void more(Body& body, Local& local, const Around& around);
  void steps(Body& body, Local& local);
  void args(Body& body, Local& local);
  void states(Body& body, Local& local, const Around& around);
  void next(Body& body, Local& local, const Around& around);
  void outputs(Body& body, Local& local, const Around& around);
  // A value that depends on this op, with a batch axis if `rows`.
  std::optional<Operand> showing(Body& body, const ir::OpSchema& op, bool rows);
  // Writes a graph over inputs of these types; returns its number.
  std::size_t local(std::vector<Port> inputs, std::string carry, const Around& around);

  // calls.cc: calls, repeats and scans of graphs of the file.
  struct Given {
    std::vector<Operand> operands;
    ir::SizesBySymbol sizes;  // the values of the graph's symbols in its caller
  };
  std::optional<Given> given(Body& body, const std::vector<Port>& inputs);
  std::vector<Operand> some(Body& body, int most);
  std::string bindings(Body& body, const std::vector<Port>& ports, const std::vector<Operand>& operands);
  std::string given_args(const Local& called, bool repeated);
  std::string shared(std::size_t graph);
  std::string begun(Body& body, const Local& called, const ir::SizesBySymbol& sizes);
  void inherit(Local& caller, std::size_t called, bool states_too);
  void call(Body& body, Local& caller, const Around& around);
  void repeat(Body& body, Local& caller, const Around& around);
  void scan(Body& body, Local& caller, const Around& around);
  struct Scanned {
    std::size_t graph = 0, each = 0;
    std::vector<Operand> operands = {};
    std::string lengths = {};
    bool reverse = false;
    std::string begin = {};     // the whole field; empty: chosen at random
    bool begins_anyhow = true;  // false: only by `begin` or `stream`
    bool stream = false;        // its states persist from run to run
  };
  std::string scan_line(Body& body, Local& caller, const Around& around, const Scanned& how);

  // bundles.cc: states of calls as values, and graphs as arguments.
  void bundle(Body& body, Local& caller, const Around& around);
  bool can_be_stream(const Local& scanned, const Around& around) const;
  std::string stream(Body& body, Local& caller, const std::string& name, const Local& scanned);
  void add_bundle(Body& body, Local& caller, const std::string& name, const std::vector<Port>& leaves);
  void argument_graph(Body& body, Local& caller, const Around& around);
  std::size_t handed_graph();

  // driven.cc: a scan of words, to be cut for generation.
  void speak(Body& body, Local& root, bool has_lengths);
  std::string driven_scan(Body& body, Local& root, std::vector<Operand> each, const std::vector<Operand>& known, bool ragged);
  std::string driven_layers(Body& body, Local& root, const Operand& x, const std::vector<Operand>& known, bool ragged);

  std::map<std::string, std::string> split(const std::string& head, const Local& root);
  std::set<std::size_t> all_called(std::size_t graph) const;

  static Port port_of(Body& body, const Operand& o, const std::string& name) {
    return {name, body.type(o), o.below, o.lengths};
  }

  tests::Draw draw_;
  const ir::OpSchema* focus_;  // occurs in scans more often
  std::vector<Local> locals_;
  std::vector<std::map<std::size_t, std::string>> instances_;  // for the graphs being written: the graph of each call, by name
  std::set<std::size_t> callable_;
  std::vector<std::size_t> handed_;  // graphs that can be used as a cell
  std::string file_arg_;             // a factor that all graphs of the file may read; empty if none
  int graphs_ = 0;
  std::optional<GenerationSpec> generation_;
  Coverage coverage_;
};

// Whether the path of a state contains the number of a repetition.
bool has_numbers(const std::string& path);
// The symbol of the batch axis.
const Dim& batch_rows();
bool has_rows(const ir::TensorType& type);
std::string joined(const std::vector<std::string>& lines);
// The text with some words replaced.
std::string reworded(const std::string& text, const std::map<std::string, std::string>& by);

}  // namespace graphrun::random_graphs
