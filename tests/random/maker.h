// One made-up graph while it is written: the root and the graphs that it calls.
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

// A value that a call may give to an arg.
struct Argument {
  std::string name;
  enum class Kind { kWidth, kFactor, kFlag, kGraph } kind = Kind::kWidth;
  std::string given;  // by every call that gives it, where they must agree; empty: each as it likes
};

// A graph inside the file that others call.
struct Local {
  std::string name, text;
  std::vector<Port> inputs, outputs;
  std::vector<Port> states;         // its own
  std::vector<Port> leaves;         // these and those of what it calls, by their paths
  std::vector<Argument> arguments;  // all have defaults
  std::set<std::size_t> calls;      // other graphs of the file that its text names
  std::set<std::size_t> handed;     // those that its callers hand to it
  bool forward_only = false;        // numbers its steps
  bool rows = true;                 // all outputs and states, also of what it calls, have a row for each of the batch
  bool reads_file = false;          // args of the file around it
  std::string carry;                // an input that each repetition gets from the one before
  std::string carried_as;           // the output of its type
  Traits traits;                    // of its outputs
};

struct Around {
  int depth = 0;
  bool scanned = false;  // a scan runs it
  bool rows = false;     // all outputs and states must have rows
  bool root = false;
  bool cell = false;                          // its states are all of one type, FLOAT
  std::optional<ir::TensorType> wanted = {};  // one output, "wanted", is of this type
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
  // Something that is made of this op and has rows where they are wanted.
  std::optional<Operand> showing(Body& body, const ir::OpSchema& op, bool rows);
  // A graph over inputs of these types: its number.
  std::size_t local(std::vector<Port> inputs, std::string carry, const Around& around);

  // calls.cc: calls, repeats and scans of graphs of the file.
  struct Given {
    std::vector<Operand> operands;
    ir::SizesBySymbol sizes;  // what the graph's symbols are at its caller
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
    std::string begin = {};     // whole; empty: as may be
    bool begins_anyhow = true;  // false: by `begin` or `stream` alone
    bool stream = false;        // its states live on
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
  const ir::OpSchema* focus_;  // stands in scans more often
  std::vector<Local> locals_;
  std::vector<std::map<std::size_t, std::string>> instances_;  // of the graphs under way: which called what, by name
  std::set<std::size_t> callable_;
  std::vector<std::size_t> handed_;  // graphs that stand for a cell
  std::string file_arg_;             // a factor that all graphs of the file may read; empty: none
  int graphs_ = 0;
  std::optional<GenerationSpec> generation_;
  Coverage coverage_;
};

// Whether the path of a state says which repetition it is of.
bool has_numbers(const std::string& path);
// The axis of the batch's rows.
const Dim& batch_rows();
bool has_rows(const ir::TensorType& type);
std::string joined(const std::vector<std::string>& lines);
// The text with other words in the place of some.
std::string reworded(const std::string& text, const std::map<std::string, std::string>& by);

}  // namespace graphrun::random_graphs
