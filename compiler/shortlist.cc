#include "compiler/shortlist.h"

#include <algorithm>
#include <optional>

#include "compiler/ir/builder.h"

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::Role;
using ir::ValueId;
using Index = std::size_t;
using Carried = GenerationGraphs::Carried;

constexpr int kAsItIs = -1;  // of a value that is used unchanged: no axis of it is restricted to the list's words

// The axis of a broadcast operand that becomes an axis of the result; kAsItIs if there is none. Axes are aligned from the last.
int broadcast_axis(const Shape& operand, const Shape& result, int axis) {
  const int at = axis + static_cast<int>(operand.size()) - static_cast<int>(result.size());
  return at < 0 || operand[static_cast<Index>(at)] == Dim(1) ? kAsItIs : at;
}

// For each operand of a product, its axis that becomes an axis of the result; kAsItIs if there is none.
std::vector<int> axes_of_product(const Node& node, const Shape& a, const Shape& b, const Shape& result, int axis) {
  const int rank_a = static_cast<int>(a.size()), rank_b = static_cast<int>(b.size()), rank = static_cast<int>(result.size());
  const int columns = rank_b > 1 ? 1 : 0, rows = rank_a > 1 ? 1 : 0;
  if (columns == 1 && axis == rank - 1) return {kAsItIs, node.attributes.boolean("transpose_b") ? rank_b - 2 : rank_b - 1};
  if (rows == 1 && axis == rank - columns - 1) {
    return {node.attributes.boolean("transpose_a") ? rank_a - 1 : rank_a - 2, kAsItIs};
  }
  const Shape leading(result.begin(), result.end() - rows - columns);
  const auto before = [](const Shape& s) { return s.size() > 1 ? Shape(s.begin(), s.end() - 2) : Shape(); };
  return {broadcast_axis(before(a), leading, axis), broadcast_axis(before(b), leading, axis)};
}

// The axis of `from` that holds the same elements as an axis of `to`, which is `from` in another shape.
std::optional<int> axis_before_reshape(const Shape& from, const Shape& to, int axis) {
  const Dim outer = element_count(Shape(to.begin(), to.begin() + axis));
  for (Index k = 0; k < from.size(); ++k) {
    const Shape before(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(k));
    if (from[k] == to[static_cast<Index>(axis)] && element_count(before) == outer) return static_cast<int>(k);
  }
  return std::nullopt;
}

// Which axes of its operand, of this rank, a reduction sums over.
std::vector<bool> summed_axes(const Node& node, std::size_t rank) {
  std::vector<bool> is(rank);
  const auto mark = [&](std::int64_t axis) { is[static_cast<Index>(ir::resolve_axis(axis, rank, node.op->name))] = true; };
  const auto given = node.attributes.all().find("axis");
  if (node.op->attribute("axis") == nullptr && !node.op->fold) {  // such as normalize: the last axis
    is.back() = true;
    return is;
  }
  if (given == node.attributes.all().end()) return std::vector<bool>(rank, true);
  if (const auto* one = std::get_if<std::int64_t>(&given->second)) mark(*one);
  if (const auto* several = std::get_if<std::vector<std::int64_t>>(&given->second)) {
    if (several->empty()) return std::vector<bool>(rank, true);
    std::for_each(several->begin(), several->end(), mark);
  }
  return is;
}

class Restriction {
 public:
  explicit Restriction(GenerationGraphs& made)
      : made_(made),
        step_(made.step),
        all_(step_.type(step_.outputs[0].value).shape[1]),
        of_(step_.values.size()),
        b_(made.step),
        prologue_(made.prologue) {
    made_.shortlist = GenerationGraphs::Shortlist{{}, {}, Symbol::named("shortlist.words"), all_.constant()};
  }

  void run() {
    const ValueId score = step_.outputs[0].value;
    find_varying();
    follow(score);
    take_lists();
    const std::size_t nodes = step_.nodes.size();
    for (Index n = 0; n < nodes; ++n) {
      const Node node = step_.nodes[n];  // a copy: adding nodes moves them
      make(node);
    }
    step_.outputs[0].value = of(score).listed;
  }

 private:
  // What is known about each value that the step had before the restriction added others.
  struct ListedValue {
    bool varies = false;     // from row to row, or from step to step
    bool needed = false;     // for the score
    int axis = kAsItIs;      // the axis of words, where it is needed for the list's words alone
    bool changes = false;    // it has no such axis, but depends on which words the list has: a sum over them
    ValueId listed = kNone;  // with an axis: for the list's words
    ValueId again = kNone;   // if it changes: the same, computed for the list's words
  };
  ListedValue& of(ValueId v) { return of_[static_cast<Index>(v)]; }
  const ListedValue& of(ValueId v) const { return of_[static_cast<Index>(v)]; }
  const Shape& shape(ValueId v) const { return step_.type(v).shape; }

  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    const ir::Value& value = step_.value(node.outputs[0]);
    const std::string what = ir::is_scan(node) ? "scan '" + node.regions[0].name + "'" : "op '" + node.op->name + "'";
    refuse_at(node.at, "'" + value.name + "' " + value.type.str() + ": " + what + " " + why);
  }
  [[noreturn]] static void refuse_at(const Location& at, const std::string& text) {
    throw UserError(ExitCode::kInvalidGraph,
                    {{Severity::kError,
                      "E0436 no-shortlist",
                      at,
                      "the scores cannot be computed for the words of a shortlist alone: " + text,
                      {"help: generate without a shortlist (--no-shortlist), or compute the scores by a product with a "
                       "parameter that has a row or a column for each word"}}});
  }

  // Constants without rows are the same for all steps, as parameters are.
  void find_varying() {
    for (const ir::Input& input : step_.inputs) {
      const std::string& name = step_.value(input.value).name;
      of(input.value).varies = std::none_of(made_.constants.begin(), made_.constants.end(),
                                            [&](const Carried& c) { return c.name == name && c.row_axis < 0; });
    }
    for (const Node& node : step_.nodes) {
      const bool varies =
          std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return v != kNone && of(v).varies; });
      for (ValueId v : node.outputs) of(v).varies = varies;
    }
  }

  // Finds the values that are needed for the list's words, from the score back. If the score also needs a sum over all words
  // (such as that of a softmax that is written out), the sum must be restricted to the list's words too, so its operand is
  // followed as well.
  void follow(ValueId score) {
    of(score).needed = true, of(score).axis = 1;
    for (bool more = true; more;) {
      for (Index n = step_.nodes.size(); n-- > 0;) {
        const Node& node = step_.nodes[n];
        for (ValueId v : node.outputs) {
          if (of(v).needed) follow_node(node, of(v).axis);
        }
      }
      more = false;
      for (const Node& node : step_.nodes) more = find_changes(node) || more;
    }
  }

  void follow_node(const Node& node, int axis) {
    const std::vector<int> axes = operand_axes(node, axis);
    for (Index k = 0; k < node.inputs.size(); ++k) {
      if (node.inputs[k] == kNone) continue;
      ListedValue& operand = of(node.inputs[k]);
      operand.needed = true;
      if (axes[k] == kAsItIs) continue;
      if (operand.axis != kAsItIs && operand.axis != axes[k]) refuse(node, "needs all words, along another axis");
      operand.axis = axes[k];
    }
  }

  // Whether the node is a sum over all words that must be restricted to the list's words, and its operand was not restricted
  // yet.
  bool find_changes(const Node& node) {
    const bool changes = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return v != kNone && (of(v).changes || (of(v).axis != kAsItIs && of(v).varies));
    });
    bool found = false;
    for (ValueId v : node.outputs) {
      if (!of(v).needed) continue;
      of(v).changes = changes;
      if (!changes || of(v).axis != kAsItIs || node.op->access != ir::Access::kReduction) continue;
      const std::vector<bool> summed = summed_axes(node, shape(node.inputs[0]).size());
      const auto axis = std::find(summed.begin(), summed.end(), true) - summed.begin();
      if (std::count(summed.begin(), summed.end(), true) != 1 || shape(node.inputs[0])[static_cast<Index>(axis)] != all_)
        continue;
      int& own = of(node.inputs[0]).axis;
      if (own != kAsItIs && own != axis) refuse(node, "needs all words, along another axis");
      found = found || own == kAsItIs;
      own = static_cast<int>(axis);
    }
    return found;
  }

  // For each operand, the axis that must be restricted to the list's words so that axis `axis` of the results is; kAsItIs:
  // none. `axis` is kAsItIs for a node that sums over the words.
  std::vector<int> operand_axes(const Node& node, int axis) const {
    std::vector<int> axes(node.inputs.size(), kAsItIs);
    const bool reduces = node.op->access == ir::Access::kReduction;
    if (axis == kAsItIs) {
      const int own = reduces && of(node.outputs[0]).changes ? of(node.inputs[0]).axis : kAsItIs;
      if (own != kAsItIs && summed_axes(node, shape(node.inputs[0]).size())[static_cast<Index>(own)]) axes[0] = own;
      return axes;
    }
    const Shape& result = shape(node.outputs[0]);
    if (!node.regions.empty()) refuse(node, "needs all words");
    if (node.op->access == ir::Access::kElementwise || node.op->pointwise) {
      for (Index k = 0; k < axes.size(); ++k) {
        if (node.inputs[k] != kNone) axes[k] = broadcast_axis(shape(node.inputs[k]), result, axis);
      }
      return axes;
    }
    if (ir::plays(node, Role::kMatmul)) {
      return axes_of_product(node, shape(node.inputs[0]), shape(node.inputs[1]), result, axis);
    }
    if (reduces) {
      axes[0] = axis_before_reduction(node, axis);
      return axes;
    }
    if (node.op->access == ir::Access::kLookup && node.inputs.size() == 2) {
      const int of_table = axis - static_cast<int>(shape(node.inputs[1]).size()) + 1;
      if (of_table < 1) refuse(node, "looks words up");
      axes[0] = of_table;
      return axes;
    }
    return rearranged_axes(node, result, axis, std::move(axes));
  }

  int axis_before_reduction(const Node& node, int axis) const {
    const Shape &x = shape(node.inputs[0]), &y = shape(node.outputs[0]);
    if (x.size() == y.size() && !summed_axes(node, x.size())[static_cast<Index>(axis)]) return axis;
    const auto is_lengths = [&](ValueId v) { return v == kNone || step_.type(v).type == Type::kInt32; };
    if (!std::all_of(node.inputs.begin() + 1, node.inputs.end(), is_lengths)) refuse(node, "needs all words");
    if (x.size() == y.size()) return axis;
    const std::vector<bool> summed = summed_axes(node, x.size());
    for (Index k = 0, left = 0; k < x.size(); ++k) {
      if (!summed[k] && left++ == static_cast<Index>(axis)) return static_cast<int>(k);
    }
    refuse(node, "needs all words");
  }

  std::vector<int> rearranged_axes(const Node& node, const Shape& result, int axis, std::vector<int> axes) const {
    const auto along = [&](std::size_t rank) { return ir::resolve_axis(node.attributes.integer("axis"), rank, node.op->name); };
    switch (node.op->role) {
      case Role::kReshape:
        if (const std::optional<int> before = axis_before_reshape(shape(node.inputs[0]), result, axis)) {
          axes[0] = *before;
          return axes;
        }
        break;
      case Role::kExpand:
      case Role::kStack:
        if (const int added = along(result.size()); axis != added) {
          axes.assign(axes.size(), axis < added ? axis : axis - 1);
          return axes;
        }
        break;
      case Role::kTranspose: {
        const std::vector<std::int64_t>& order = node.attributes.integers("permutation");
        const int rank = static_cast<int>(result.size());
        const int swapped = axis == rank - 1 ? rank - 2 : axis == rank - 2 ? rank - 1 : axis;
        axes[0] = order.empty() ? swapped : static_cast<int>(order[static_cast<Index>(axis)]);
        return axes;
      }
      case Role::kBroadcast: axes[0] = broadcast_axis(shape(node.inputs[0]), result, axis); return axes;
      case Role::kStopGradient: axes[0] = axis; return axes;
      case Role::kIndex: axes[0] = axis < along(shape(node.inputs[0]).size()) ? axis : axis + 1; return axes;
      case Role::kSlice:
      case Role::kSplit:
      case Role::kConcat:
        if (along(result.size()) == axis) break;
        axes.assign(axes.size(), axis);
        return axes;
      case Role::kZeros:
      case Role::kRange: return axes;
      default: break;
    }
    refuse(node, "needs all words");
  }

  // Adds the list, which of its words each sentence may use, and the list's part of each value that the step does not compute.
  void take_lists() {
    GenerationGraphs::Shortlist& list = *made_.shortlist;
    words_ = list_input(list.words, "shortlist.words", {Type::kInt32, {Dim(list.count)}}, -1);
    list_input(list.allowed, "shortlist.allowed", {Type::kBool, {Dim(made_.rows), Dim(list.count)}}, 0);
    for (Index v = 0; v < of_.size(); ++v) {
      if (of_[v].axis != kAsItIs && step_.value(static_cast<ValueId>(v)).node < 0) select(static_cast<ValueId>(v));
    }
  }

  ValueId list_input(GenerationGraphs::Shortlist::PassedOn& names, const std::string& name, const ir::TensorType& type,
                     int row_axis) {
    const ValueId given = prologue_.input(name, type);
    names.input = made_.prologue.value(given).name;
    const ValueId constant = give_constant(name, given, row_axis);
    (row_axis < 0 ? list_ : allowed_) = constant;
    names.constant = made_.constants.back().name;
    return given;
  }

  // A value of the prologue as a constant of the step.
  ValueId give_constant(const std::string& name, ValueId from, int row_axis) {
    Carried c;
    c.type = made_.prologue.type(from);
    c.row_axis = row_axis;
    const ValueId input = b_.input(name, c.type);
    step_.inputs.back().lasting = row_axis < 0;
    c.name = step_.value(input).name;
    const auto behind = static_cast<std::ptrdiff_t>(made_.constants.size());
    made_.prologue.outputs.insert(made_.prologue.outputs.begin() + behind, {c.name, from});
    made_.constants.push_back(c);
    return input;
  }

  void select(ValueId v) {
    const ir::Value value = step_.value(v);
    const auto axis = static_cast<Index>(of(v).axis);
    ValueId whole = kNone;
    int row_axis = -1;
    Location at;
    if (const ir::Variable* variable = step_.variable(value.name); variable && variable->value == v) {
      const ir::Variable* const there = made_.prologue.variable(value.name);
      whole = there != nullptr ? there->value : prologue_.variable(value.name, value.type, *variable);
      at = variable->at;
    }
    for (const Carried& c : made_.constants) {
      if (whole == kNone && c.name == value.name) whole = made_.prologue.output(c.name)->value, row_axis = c.row_axis;
    }
    const std::string what = "'" + value.name + "' " + value.type.str();
    if (whole == kNone)
      refuse_at(at, what + " has an axis of words but is no parameter or constant: it changes from step to step");
    prologue_.set_location(at);
    prologue_.set_name(value.name + ".shortlist");
    const ValueId part = prologue_.op("select_rows", {whole, words_}, {{"axis", static_cast<std::int64_t>(axis)}});
    of(v).listed = give_constant(value.name + ".shortlist", part, row_axis);
  }

  // Computes the results of a node for the list's words, if the score needs them.
  void make(const Node& node) {
    const auto wanted = std::find_if(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId v) { return of(v).needed && (of(v).axis != kAsItIs || of(v).changes); });
    if (wanted == node.outputs.end()) return;
    const int axis = of(*wanted).axis;
    if (axis != kAsItIs && ir::plays(node, Role::kRange)) {
      of(*wanted).listed = list_;
      return;
    }
    const std::vector<int> axes = operand_axes(node, axis);
    bool other = axis != kAsItIs;
    std::vector<ValueId> inputs = node.inputs;
    for (Index k = 0; k < inputs.size(); ++k) {
      if (inputs[k] == kNone) continue;
      const ListedValue& operand = of(inputs[k]);
      const ValueId listed = axes[k] != kAsItIs ? operand.listed : operand.again;
      if (listed == kNone) continue;
      inputs[k] = listed;
      other = true;
    }
    if (!other) return;
    if (!node.regions.empty()) refuse(node, "needs all words");
    const bool is_place = node.op->access == ir::Access::kReduction && axis == kAsItIs;
    if (is_place && step_.type(node.outputs[0]).type != Type::kFloat) refuse(node, "gives the place of a word among all");
    try {
      b_.set_location(node.at);
      b_.set_name(step_.value(node.outputs[0]).name + ".shortlist");
      const bool of_words = node.op->access == ir::Access::kReduction && axes[0] != kAsItIs &&
                            summed_axes(node, shape(node.inputs[0]).size())[static_cast<Index>(axes[0])];
      if (of_words) inputs[0] = of_own_words(node, inputs[0], static_cast<Index>(axes[0]));
      const std::vector<ValueId> made = b_.node(*node.op, std::move(inputs), listed_attributes(node, axis));
      for (Index k = 0; k < made.size(); ++k) {
        ListedValue& result = of(node.outputs[k]);
        (result.axis != kAsItIs ? result.listed : result.again) = made[k];
      }
    } catch (const ir::OpError&) {
      refuse(node, "needs all words");
    }
  }

  // The operand of a sum over the axis of words, with a neutral number for each word that a row may not use, so that the words
  // of other rows have no effect.
  ValueId of_own_words(const Node& node, ValueId operand, Index axis) {
    const Shape listed = shape(operand);
    const auto rows = static_cast<Index>(std::find(listed.begin(), listed.end(), Dim(made_.rows)) - listed.begin());
    if (rows == listed.size()) refuse(node, "needs all words, the same for all rows");
    Shape aligned(listed.size(), Dim(1));
    aligned[rows] = listed[rows], aligned[axis] = listed[axis];
    const ValueId allowed = rows < axis ? allowed_ : b_.op("transpose", {allowed_});
    return b_.equation("where(allowed, operand, neutral)", {{"allowed", b_.op("reshape", {allowed}, {{"shape", aligned}})},
                                                            {"operand", operand},
                                                            {"neutral", b_.constant(neutral(node))}});
  }

  // The number that has no effect on the node's result.
  double neutral(const Node& node) const {
    constexpr double kLeast = -1e30;  // the exponential of it is 0
    if (!node.op->fold) {
      // Softmaxes have an axis and no other setting.
      if (node.attributes.has("axis") && node.attributes.all().size() == 1) return kLeast;
      refuse(node, "needs all words");
    }
    switch (*node.op->fold) {
      case ir::FoldKind::kSum: return 0;
      case ir::FoldKind::kMax:
      case ir::FoldKind::kLogSumExp: return kLeast;
      case ir::FoldKind::kMin: return -kLeast;
      default: refuse(node, "needs all words");
    }
  }

  // The node's attributes. In a shape of its result, the number of words becomes the list's.
  ir::NamedAttributes listed_attributes(const Node& node, int axis) const {
    ir::NamedAttributes all;
    for (const auto& [name, attribute] : node.attributes.all()) {
      all.emplace_back(name, attribute);
      Shape* const given = std::get_if<Shape>(&all.back().second);
      if (axis == kAsItIs || given == nullptr || *given != shape(node.outputs[0])) continue;
      (*given)[static_cast<Index>(axis)] = Dim(made_.shortlist->count);
    }
    return all;
  }

  GenerationGraphs& made_;
  ir::Graph& step_;
  const Dim all_;                // words
  std::vector<ListedValue> of_;  // by value
  ir::Builder b_, prologue_;
  ValueId words_ = kNone, list_ = kNone;  // the list: of the prologue, of the step
  ValueId allowed_ = kNone;               // of the step
};

}  // namespace

void restrict_to_shortlist(GenerationGraphs& made) { Restriction(made).run(); }

}  // namespace graphrun
