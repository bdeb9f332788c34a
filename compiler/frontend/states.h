// The states of an instance: as a tree of names, by the paths of its leaves, and their values before and after a step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/definition.h"
#include "compiler/frontend/meaning.h"

namespace graphrun::frontend {

// The path of one state: "layers", "0", "s", "h".
using Leaf = std::vector<std::string>;
std::string dotted(const Leaf& leaf);
Leaf split_path(const std::string& path);

struct NamedStateTree;

// The states of an instance: names down to leaves; for a repeat, the members are numbered.
struct StateTree {
  bool leaf = false, numbered = false;
  bool whole = true;  // false: the states of a call are missing, because they could not be determined
  std::vector<NamedStateTree> members;
  const StateTree* member(const std::string& name) const;             // null if there is none
  const StateTree& at(const Leaf& path, std::size_t from = 0) const;  // throws Failure
};
struct NamedStateTree {
  std::string name;
  StateTree tree;
};
std::vector<Leaf> leaves(const StateTree& tree);
// The tree with a meaning for each leaf, computed from its path.
Meaning fill(const StateTree& tree, const std::function<Meaning(const Leaf&)>& value, Leaf prefix = {});

class Instance;
struct Scope;

// The states of one instance, of which those of its calls and repeats are a part.
class InstanceStates {
 public:
  explicit InstanceStates(Instance& instance) : instance_(instance) {}

  // Returns the value of a state before the step; nullopt if this instance does not know it.
  using Provider = std::function<std::optional<Meaning>(const Leaf&)>;
  void provide(Provider provider) { provider_ = std::move(provider); }

  std::shared_ptr<const StateTree> tree();
  StateTree tree_of(const std::string& of, const Location& at);  // of a call or state, by its path
  ir::TensorType type(const Leaf& leaf);
  Meaning begin(const Leaf& leaf);  // before this step
  Meaning zero(const Leaf& leaf);   // before the first step, by default
  Meaning next(const Leaf& leaf, const Location& at);
  Meaning end();
  // The part of a state, before this step, that the path selects: the shape of another part may depend on this one. `taken`:
  // how much of the path is used.
  Meaning value(const StateDef& d, const std::vector<std::string>& path, std::size_t& taken);
  // The part of a value that belongs to the state at this path below it. If ops made one tensor of the states of all
  // repetitions, or if `repeated`, the numbers in the path are positions along its first axes.
  Meaning part(Meaning value, const Leaf& path, bool repeated, const Location& at, Scope& scope);
  // Extends the name of a bundle of states to the name of what is below it; `taken`: how much of the path that covers.
  ir::Expression narrowed(ir::Expression name, const Leaf& path, std::size_t& taken);

 private:
  const Definition& definition() const;
  void require_shape(const std::string& of, const Location& at) const;

  Instance& instance_;
  Provider provider_;
  std::shared_ptr<const StateTree> tree_;  // once it is complete
};

}  // namespace graphrun::frontend
