// One graph in one place: a definition whose names get their meanings lazily. Calls and repeats are instances in the same
// region; a scan's body is an instance in its own region.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontend/budget.h"
#include "compiler/frontend/library.h"
#include "compiler/frontend/meaning.h"
#include "compiler/frontend/region.h"
#include "compiler/frontend/sizes.h"
#include "compiler/frontend/states.h"

namespace graphrun::frontend {

class Instance;

// The data shared by all instances of one expansion.
struct Expansion {
  Library& library;
  Region& root;
  bool training = true;
  std::map<std::string, ir::ValueId> parameters;              // by full name, in the root
  const char* stack_begin = nullptr;                          // to limit recursion
  std::vector<std::pair<const Instance*, std::string>> busy;  // what is being evaluated, outermost first
  std::int64_t parameter_elements = 0;                        // in total
  std::map<std::string, std::string> other_names;             // ir::Graph's
  Budget budget;
  std::vector<Observation>* observed = nullptr;  // GraphRequest's
};

// Throws Failure if the stack is nearly full; the expansion then accepts no more calls.
void bound_recursion(Expansion& expansion, const Location& at);

// The context of an expression: the instance, the number of the repetition, and the stem for the names of what it builds.
struct Scope {
  Instance* instance = nullptr;
  std::optional<int> index;
  std::string stem;
  int draws = 0;  // random ops so far: each has its own key
};

class Sub;

class Instance {
 public:
  struct Setup {
    std::shared_ptr<const GraphValue> graph;
    std::map<std::string, Thunk> args, inputs;
    std::map<std::string, Location> args_at;     // where an arg's value was written, through any number of calls
    std::map<std::string, std::string> origins;  // for inputs whose values the call does not write, a note for messages
    std::string path;                            // "encode.forward.", "layers.0."
    std::string declared_path;                   // the same without the numbers of repetitions: "layers."
    std::string parameters_path;                 // the same, or that of a sibling whose parameters are shared
    Region* region = nullptr;
    const Location* via = nullptr;
    bool root = false;
    bool first_step = false;  // for a scan's first step as seen from outside: there is no previous or later step
  };
  Instance(Expansion& expansion, Setup setup);
  ~Instance();
  Instance(const Instance&) = delete;

  const Definition& definition() const { return *setup_.graph->definition; }
  const std::string& path() const { return setup_.path; }
  const std::string& declared_path() const { return setup_.declared_path; }
  const std::string& parameters_path() const { return setup_.parameters_path; }
  Region& region() const { return *setup_.region; }
  Expansion& expansion() const { return expansion_; }
  const Location* via() const { return setup_.via; }
  bool is_root() const { return setup_.root; }
  bool has_input(const std::string& name) const { return setup_.inputs.count(name) != 0; }  // whether the call gives it
  bool first_step() const { return setup_.first_step; }
  Location at(Location l) const {
    l.via = setup_.via;
    return l;
  }

  InstanceStates& states() { return states_; }
  InstanceSizes& sizes() { return sizes_; }

  // An arg, import or local graph of this file.
  std::optional<Meaning> constant(const std::string& name);

  Meaning name(const ir::Expression& e, const Scope& scope);
  Meaning input(const std::string& name);
  // Throws Failure if there is none; `help` says what to do.
  Meaning output(const std::string& name, const Location& at, const std::string& help = "");
  const OutputDef& declared_output(const std::string& name, const Location& at, const std::string& help = "") const;
  Meaning equation(std::size_t index, std::size_t target);
  Sub& sub(const std::string& name);
  // Rethrows the mistake for which a name was refused: its readers report none of their own.
  void require_declared(const std::string& name) const;

  // Evaluates f once, and caches its meaning or failure. `key`: "equation p".
  Meaning once(const std::string& key, const Location& at, const std::function<Meaning()>& f);
  Meaning evaluate(const ir::Expression& e, Scope& scope);  // and records it for Expansion::observed
  Meaning evaluate(const ir::Expression& e, const std::string& stem, std::optional<int> index = {});
  std::shared_ptr<const GraphValue> graph_value(const ir::Expression& e, std::optional<int> index = {});
  // The args by name; each is a graph if the callee imports that name.
  std::map<std::string, Thunk> arg_thunks(const GraphValue& callee, const std::vector<ir::Binding>& args,
                                          std::optional<int> index);
  // Where an arg of this graph, or of the enclosing file, was given its value; unknown if it has its default.
  Location given_at(const std::string& arg) const;
  // The same for a value: for an arg that is passed on, where that arg was given; else the location of the value.
  Location written_at(const ir::Expression& value) const;
  [[noreturn]] void unknown_arg(const Definition& callee, const std::string& name, const Location& where) const;

 private:
  Meaning evaluate_now(const ir::Expression& e, Scope& scope);
  const Thunk* given_arg(const std::string& name) const;
  Meaning import_value(const ImportDef& import);
  void prepare(const Definition::Read& what);
  Meaning equation_now(std::size_t index);
  std::string equation_key(std::size_t index) const;
  void note_name(const std::string& name, const Meaning& m);
  Meaning root_input(const InputDef& d);
  Meaning parameter(const ParameterDef& d);
  Meaning plain_parameter(const ParameterDef& d, const std::string& full_name);

  struct Memo {
    bool busy = false;
    std::optional<Meaning> value;
    std::optional<Failure> failure;
  };
  Expansion& expansion_;
  Setup setup_;
  InstanceStates states_;
  InstanceSizes sizes_;
  std::map<std::string, Memo> memo_;
  std::map<std::string, std::unique_ptr<Sub>> subs_;
  std::set<Definition::Read> prepared_;  // of calls
};

}  // namespace graphrun::frontend
