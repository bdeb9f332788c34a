#include "compiler/frontend/meaning.h"

#include <algorithm>
#include <cctype>

namespace graphrun::frontend {

void Failure::add(const Failure& other) {
  for (const auto& d : other.why) {
    if (why.size() >= kMost) return;
    if (std::find(why.begin(), why.end(), d) == why.end()) why.push_back(d);
  }
}

void fail(std::string code, const Location& at, std::string text, std::vector<std::string> notes) {
  throw Failure{{std::make_shared<const Diagnostic>(
      Diagnostic{Severity::kError, std::move(code), at, std::move(text), std::move(notes)})}};
}

Meaning Meaning::size(const Dim& dim) {
  if (dim.is_constant()) return ir::Number{ir::Number::Kind::kInt, static_cast<double>(dim.constant())};
  return dim;
}
Meaning Meaning::bundle(Members members) {
  return std::shared_ptr<const Bundle>(std::make_shared<Bundle>(Bundle{std::move(members)}));
}
Meaning Meaning::stack(std::vector<Meaning> members) {
  return std::shared_ptr<const Stack>(std::make_shared<Stack>(Stack{std::move(members)}));
}
Meaning Meaning::list(std::vector<Meaning> members) {
  return std::shared_ptr<const List>(std::make_shared<List>(List{std::move(members)}));
}

const Members* Meaning::bundle() const {
  const auto* p = std::get_if<std::shared_ptr<const Bundle>>(&v_);
  return p ? &(*p)->members : nullptr;
}
const std::vector<Meaning>* Meaning::stack() const {
  const auto* p = std::get_if<std::shared_ptr<const Stack>>(&v_);
  return p ? &(*p)->members : nullptr;
}
const std::vector<Meaning>* Meaning::list() const {
  const auto* p = std::get_if<std::shared_ptr<const List>>(&v_);
  return p ? &(*p)->members : nullptr;
}
const GraphValue* Meaning::graph() const {
  const auto* p = std::get_if<std::shared_ptr<const GraphValue>>(&v_);
  return p ? p->get() : nullptr;
}
std::shared_ptr<const GraphValue> Meaning::shared_graph() const { return std::get<std::shared_ptr<const GraphValue>>(v_); }

std::string Meaning::describe() const {
  if (const ir::Number* n = number()) {
    if (n->kind == ir::Number::Kind::kBool) return n->value != 0 ? "true" : "false";
    std::string s = std::to_string(n->value);
    while (s.back() == '0') s.pop_back();
    if (s.back() == '.') s.pop_back();
    return "the number " + s;
  }
  if (const Dim* d = dim()) return "the size " + d->str();
  if (const std::string* w = word()) return "the word '" + *w + "'";
  if (tensor()) return "a tensor";
  if (const Members* b = bundle()) {
    std::string s;
    for (const auto& [name, m] : *b) s += (s.empty() ? "" : ", ") + name;
    return "a bundle (" + s + ")";
  }
  if (stack()) return "the results of " + std::to_string(stack()->size()) + " repetitions";
  if (list()) return "a list";
  return "a graph";
}

Meaning select(const Meaning& value, const std::string& key, const Location& at) {
  const bool numbered = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isdigit(c); });
  if (const Members* members = value.bundle()) {
    for (const auto& [name, member] : *members) {
      if (name == key) return member;
    }
    if (numbered) {
      Members out;
      for (const auto& [name, member] : *members) out.emplace_back(name, select(member, key, at));
      return Meaning::bundle(std::move(out));
    }
    std::vector<std::string> known;
    for (const auto& [name, member] : *members) known.push_back(name);
    const std::string hint = did_you_mean(key, known);
    fail("E0224 no-member", at, value.describe() + " has no member '" + key + "'",
         hint.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + hint});
  }
  if (const std::vector<Meaning>* members = value.stack()) {
    if (numbered) {
      const std::size_t k = std::stoul(key.substr(0, 9));
      if (k < members->size()) return (*members)[k];
      fail("E0224 no-member", at, "there are " + std::to_string(members->size()) + " repetitions; no number " + key);
    }
    std::vector<Meaning> out;
    for (const Meaning& m : *members) out.push_back(select(m, key, at));
    return Meaning::stack(std::move(out));
  }
  fail("E0224 no-member", at, value.describe() + " has no member '" + key + "'");
}

}  // namespace graphrun::frontend
