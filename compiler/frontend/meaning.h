// The value of an expression during expansion: a number or size known at compile time, a tensor of the graph under
// construction, or a structure of those.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/frontend/definition.h"
#include "compiler/ir/operand.h"

namespace graphrun::frontend {

struct Region;
class Instance;
class Meaning;

using Thunk = std::function<Meaning()>;

// A mistake that propagates up to code that can continue without the value. Diagnostics are shared, so that a mistake behind a
// value with many readers is reported once.
struct Failure {
  static constexpr std::size_t kMost = 100;  // mistakes; more are not collected
  std::vector<std::shared_ptr<const Diagnostic>> why;
  void add(const Failure& other);
};
[[noreturn]] void fail(std::string code, const Location& at, std::string text, std::vector<std::string> notes = {});

struct TensorRef {
  Region* region = nullptr;
  ir::ValueId id = ir::kNone;
};

// A graph with some args bound; each is evaluated in the scope where it was written.
struct GraphValue {
  const Definition* definition = nullptr;
  std::map<std::string, Thunk> bound;
  std::map<std::string, Location> bound_at;  // where the value of each was written
  // Args of graphs that this one imports, directly or indirectly, and its own if the path has a single name: they take
  // precedence over the args of a call.
  struct Override {
    std::vector<std::string> path;
    Thunk value;
    Location at;
  };
  std::vector<Override> overrides;
  Instance* scope = nullptr;  // for a local graph: the instance of the enclosing file
  Location at;                // where the value was written
};

using Members = std::vector<std::pair<std::string, Meaning>>;

class Meaning {
 public:
  struct Bundle;  // named members: states, parameters of a bundle
  struct Stack;   // one member per repetition
  struct List;    // [a, b], and the results of an op with several

  using Variant = std::variant<ir::Number, Dim, std::string, TensorRef, std::shared_ptr<const Bundle>,
                               std::shared_ptr<const Stack>, std::shared_ptr<const List>, std::shared_ptr<const GraphValue>>;
  Meaning() : v_(ir::Number{}) {}
  template <class T>
  requires std::constructible_from<Variant, T> Meaning(T v) : v_(std::move(v)) {}  // NOLINT: each of these is a meaning
  static Meaning number(double value) {
    return ir::Number{
        value == static_cast<double>(static_cast<std::int64_t>(value)) ? ir::Number::Kind::kInt : ir::Number::Kind::kFloat,
        value};
  }
  static Meaning truth(bool value) { return ir::Number{ir::Number::Kind::kBool, value ? 1.0 : 0.0}; }
  static Meaning size(const Dim& dim);  // a number if it is constant
  static Meaning bundle(Members members);
  static Meaning stack(std::vector<Meaning> members);
  static Meaning list(std::vector<Meaning> members);

  const ir::Number* number() const { return std::get_if<ir::Number>(&v_); }
  const Dim* dim() const { return std::get_if<Dim>(&v_); }
  const std::string* word() const { return std::get_if<std::string>(&v_); }
  const TensorRef* tensor() const { return std::get_if<TensorRef>(&v_); }
  const Members* bundle() const;
  const std::vector<Meaning>* stack() const;
  const std::vector<Meaning>* list() const;
  const GraphValue* graph() const;
  std::shared_ptr<const GraphValue> shared_graph() const;

  bool is_structure() const { return bundle() || stack(); }
  std::string describe() const;  // "the number 3", "a tensor", "a bundle (c, h)"

 private:
  Variant v_;
};

struct Meaning::Bundle {
  Members members;
};
struct Meaning::Stack {
  std::vector<Meaning> members;
};
struct Meaning::List {
  std::vector<Meaning> members;
};

// A member by name, or by number if `key` is one: of a bundle, of a stack, or of each member in between. `at` is for the
// message if there is none.
Meaning select(const Meaning& value, const std::string& key, const Location& at);

}  // namespace graphrun::frontend
