#include "compiler/frontend/states.h"

#include <algorithm>

#include "compiler/frontend/compose.h"
#include "compiler/frontend/evaluate.h"
#include "compiler/frontend/instance.h"

namespace graphrun::frontend {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string dotted(const Leaf& leaf) {
  std::string out;
  for (const std::string& part : leaf) out += (out.empty() ? "" : ".") + part;
  return out;
}

Leaf split_path(const std::string& path) {
  Leaf out;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    out.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

const StateTree* StateTree::member(const std::string& wanted) const {
  if (numbered && !wanted.empty() && wanted.size() < 10 && std::all_of(wanted.begin(), wanted.end(), is_digit)) {
    const std::size_t k = std::stoul(wanted);
    return k < members.size() && members[k].name == wanted ? &members[k].tree : nullptr;
  }
  for (const auto& [name, tree] : members) {
    if (name == wanted) return &tree;
  }
  return nullptr;
}

const StateTree& StateTree::at(const Leaf& path, std::size_t from) const {
  if (from == path.size()) return *this;
  if (const StateTree* tree = member(path[from])) return tree->at(path, from + 1);
  fail("E0216 no-state", {}, "no state '" + dotted(path) + "'");
}

std::vector<Leaf> leaves(const StateTree& tree) {
  if (tree.leaf) return {{}};
  std::vector<Leaf> out;
  for (const auto& [name, member] : tree.members) {
    for (Leaf& rest : leaves(member)) {
      rest.insert(rest.begin(), name);
      out.push_back(std::move(rest));
    }
  }
  return out;
}

Meaning fill(const StateTree& tree, const std::function<Meaning(const Leaf&)>& value, Leaf prefix) {
  if (tree.leaf) return value(prefix);
  Members named;
  std::vector<Meaning> numbered;
  for (const auto& [name, member] : tree.members) {
    Leaf path = prefix;
    path.push_back(name);
    Meaning m = fill(member, value, std::move(path));
    if (tree.numbered) {
      numbered.push_back(std::move(m));
    } else {
      named.emplace_back(name, std::move(m));
    }
  }
  return tree.numbered ? Meaning::stack(std::move(numbered)) : Meaning::bundle(std::move(named));
}

const Definition& InstanceStates::definition() const { return instance_.definition(); }

std::shared_ptr<const StateTree> InstanceStates::tree() {
  if (tree_) return tree_;
  StateTree t;
  for (const StateDef& s : definition().states) {
    StateTree member;
    if (s.of.empty()) {
      member.leaf = true;
    } else {
      member = tree_of(s.of, s.at);
    }
    t.members.push_back({s.name, std::move(member)});
  }
  for (const InstanceDef& i : definition().instances) {
    if (i.kind == InstanceDef::Kind::kScan || !i.begins.empty()) continue;
    try {
      const std::shared_ptr<const StateTree> member = instance_.sub(i.name).tree();
      t.whole &= member->whole;
      if (!member->members.empty()) t.members.push_back({i.name, *member});
    } catch (const Failure&) {  // reported by the readers of its results
      t.whole = false;
    }
  }
  auto shared = std::make_shared<const StateTree>(std::move(t));
  if (shared->whole || instance_.expansion().budget.exceeded()) tree_ = shared;
  return shared;
}

// Fails if the states that `of` leads to are defined by each other's shape, and so have none.
void InstanceStates::require_shape(const std::string& of, const Location& where) const {
  std::vector<const StateDef*> chain;
  for (const std::string* next = &of; !next->empty(); next = &chain.back()->of) {
    const Member* m = definition().member(split_path(*next)[0]);
    if (!m || m->kind != Member::Kind::kState) return;
    const StateDef* const state = &definition().states[m->index];
    if (const auto first = std::find(chain.begin(), chain.end(), state); first != chain.end()) {
      std::string cycle;
      for (auto s = first; s != chain.end(); ++s) cycle += "state " + instance_.path() + (*s)->name + " -> ";
      fail("E0225 cycle", instance_.at(where),
           "this is shaped like itself: " + cycle + "state " + instance_.path() + state->name,
           {"help: give one of them its sizes: state { name: … shape: … }"});
    }
    chain.push_back(state);
  }
}

StateTree InstanceStates::tree_of(const std::string& of, const Location& where) {
  const Leaf path = split_path(of);
  instance_.require_declared(path[0]);
  require_shape(of, where);
  bound_recursion(instance_.expansion(), instance_.at(where));
  const Member* m = definition().member(path[0]);
  if (!m || (m->kind != Member::Kind::kInstance && m->kind != Member::Kind::kState)) {
    fail("E0207 unknown-name", instance_.at(where), "of: no call is named '" + path[0] + "'");
  }
  StateTree t;
  if (m->kind == Member::Kind::kState) {
    const StateDef& s = definition().states[m->index];
    if (s.of.empty()) {
      t.leaf = true;
    } else {
      t = tree_of(s.of, s.at);
    }
  } else {
    t = *instance_.sub(path[0]).tree();
  }
  return t.at(path, 1);
}

ir::TensorType InstanceStates::type(const Leaf& leaf) {
  const Member* m = definition().member(leaf[0]);
  GRAPHRUN_CHECK(m != nullptr, "no state '" + dotted(leaf) + "'");
  const Leaf rest(leaf.begin() + 1, leaf.end());
  if (m->kind == Member::Kind::kInstance) return instance_.sub(leaf[0]).leaf_type(rest);
  GRAPHRUN_CHECK(m->kind == Member::Kind::kState, "no state '" + dotted(leaf) + "'");
  const StateDef& s = definition().states[m->index];
  if (s.of.empty()) return {s.type, instance_.sizes().shape(s.shape)};
  Leaf other = split_path(s.of);
  other.insert(other.end(), rest.begin(), rest.end());
  return type(other);
}

Meaning InstanceStates::zero(const Leaf& leaf) {
  const Member* m = definition().member(leaf[0]);
  const Leaf rest(leaf.begin() + 1, leaf.end());
  if (m && m->kind == Member::Kind::kInstance) return instance_.sub(leaf[0]).zero(rest);
  GRAPHRUN_CHECK(m && m->kind == Member::Kind::kState, "zero: " + dotted(leaf));
  const StateDef& s = definition().states[m->index];
  if (s.begin) {
    Meaning v = instance_.once("begin " + s.name, s.at,
                               [&] { return instance_.evaluate(*s.begin, instance_.path() + s.name + ".begin"); });
    Scope scope{&instance_, {}, instance_.path() + s.name + ".begin", 0};
    return part(v, rest, false, instance_.at(s.begin->at), scope);
  }
  if (!s.of.empty()) {
    Leaf other = split_path(s.of);
    other.insert(other.end(), rest.begin(), rest.end());
    return zero(other);
  }
  const ir::TensorType zeros = type(leaf);
  instance_.region().builder.set_name(instance_.path() + dotted(leaf) + ".begin");
  instance_.region().builder.set_location(instance_.at(s.at));
  return instance_.region().ref(instance_.region().builder.zeros(zeros));
}

Meaning InstanceStates::begin(const Leaf& leaf) {
  return instance_.once("state " + dotted(leaf), definition().at, [&]() -> Meaning {
    if (provider_) {
      if (std::optional<Meaning> v = provider_(leaf)) return *v;
    }
    return zero(leaf);
  });
}

Meaning InstanceStates::value(const StateDef& d, const std::vector<std::string>& path, std::size_t& taken) {
  StateTree t;
  if (d.of.empty()) {
    t.leaf = true;
  } else {
    t = tree_of(d.of, d.at);
  }
  const StateTree* wanted = &t;
  Leaf prefix = {d.name};
  for (; taken < path.size(); ++taken) {
    const StateTree* const member = wanted->member(path[taken]);
    if (member == nullptr) break;
    wanted = member;
    prefix.push_back(path[taken]);
  }
  return fill(
      *wanted, [&](const Leaf& leaf) { return begin(leaf); }, prefix);
}

ir::Expression InstanceStates::narrowed(ir::Expression name, const Leaf& path, std::size_t& taken) {
  taken = 0;
  if (name.kind != ir::Expression::Kind::kName) return name;
  const Member* const m = definition().member(name.path[0]);
  if (m == nullptr || m->kind != Member::Kind::kState || definition().states[m->index].of.empty()) return name;
  const StateTree all = tree_of(name.path[0], name.at);
  const StateTree* t = &all;
  for (std::size_t k = 1; k < name.path.size(); ++k) {
    if ((t = t->member(name.path[k])) == nullptr) return name;
  }
  for (; taken < path.size(); ++taken) {
    if ((t = t->member(path[taken])) == nullptr) break;
    name.path.push_back(path[taken]);
  }
  return name;
}

Meaning InstanceStates::part(Meaning value, const Leaf& path, bool repeated, const Location& where, Scope& scope) {
  std::vector<Meaning> positions;
  for (const std::string& key : path) {
    const bool structure = value.is_structure();
    if (is_digit(key[0]) && !value.stack()) {
      if (structure || repeated) positions.push_back(Meaning::number(std::stod(key)));
    } else if (structure) {
      value = select(value, key, where);
    }
  }
  for (const Meaning& at : positions) {
    if (value.tensor()) value = apply_op("index", {value}, {{"axis", Meaning::number(0)}, {"at", at}}, where, scope);
  }
  return value;
}

Meaning InstanceStates::next(const Leaf& leaf, const Location& where) {
  instance_.require_declared(leaf[0]);
  const Member* m = definition().member(leaf[0]);
  Meaning v;
  if (m && m->kind == Member::Kind::kState) {
    const StateDef& s = definition().states[m->index];
    if (!s.next) fail("E0204 missing", instance_.at(s.at), "state '" + s.name + "' has no `next`");
    v = instance_.once("next " + s.name, s.at, [&] { return instance_.evaluate(*s.next, instance_.path() + s.name); });
  } else if (m && m->kind == Member::Kind::kInstance) {
    v = instance_.sub(leaf[0]).end();
  } else {
    fail("E0216 no-state", instance_.at(where), "next(" + dotted(leaf) + "): no such state");
  }
  Scope scope{&instance_, {}, instance_.path() + dotted(leaf), 0};
  return part(v, Leaf(leaf.begin() + 1, leaf.end()), false, instance_.at(where), scope);
}

Meaning InstanceStates::end() {
  return instance_.once("end", definition().at,
                        [&] { return fill(*tree(), [&](const Leaf& leaf) { return next(leaf, definition().at); }); });
}

}  // namespace graphrun::frontend
