#include "compiler/driven_words.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace graphrun {
namespace {

using ir::kNone;
using ir::Node;
using ir::ValueId;
using Index = std::size_t;

Index place(ValueId v) { return static_cast<Index>(v); }

[[noreturn]] void refuse(const std::string& code, const std::string& what, std::vector<std::string> notes) {
  throw UserError(ExitCode::kInvalidGraph, code, what, std::move(notes));
}

std::string listed(const std::set<std::string>& all) {
  std::string text;
  for (const std::string& name : all) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? std::string("none") : text;
}

std::vector<std::string> near(const std::string& name, const std::set<std::string>& all) {
  std::vector<std::string> notes;
  if (std::string hint = did_you_mean(name, {all.begin(), all.end()}); !hint.empty()) notes.push_back("help: " + hint);
  return notes;
}

// The sequences in `each` of the scans that `spec` names, by their names there.
std::multimap<std::string, ValueId> sequences_of(const ir::Graph& graph, const GenerationSpec& spec) {
  std::set<std::string> scans;
  std::multimap<std::string, ValueId> sequences;
  for (const Node& node : graph.nodes) {
    if (!ir::is_scan(node)) continue;
    const ir::Graph& body = node.regions[0];
    scans.insert(body.declared);
    if (body.name != spec.scan && body.declared != spec.scan) continue;
    const ir::ScanLayout l = ir::scan_layout(node);
    for (Index k = l.each_begin(); k < l.invariant_begin(); ++k) sequences.emplace(body.inputs[k].each, node.inputs[k]);
  }
  if (scans.count(spec.scan) == 0 && sequences.empty()) {
    std::vector<std::string> notes = near(spec.scan, scans);
    notes.push_back("note: its scans are: " + listed(scans));
    refuse("E0431 unknown-scan", "graph '" + graph.name + "' has no scan '" + spec.scan + "' to generate with",
           std::move(notes));
  }
  return sequences;
}

bool is_words(const ir::TensorType& type) {
  return type.type == Type::kInt32 && type.shape.size() == 2 && type.shape[0].as_symbol() && type.shape[1].as_symbol();
}

// The inputs of the graph that contain words for the steps of these sequences, and from which the sequences are computed.
std::set<ValueId> words_below(const ir::Graph& graph, const std::set<ValueId>& sequences) {
  std::vector<bool> needed(graph.values.size());
  std::set<Symbol> times;
  for (ValueId v : sequences) {
    needed[place(v)] = true;
    const Shape& shape = graph.type(v).shape;
    if (const std::optional<Symbol> time = shape.empty() ? std::nullopt : shape[0].as_symbol()) times.insert(*time);
  }
  for (Index n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    if (std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId v) { return bool{needed[place(v)]}; })) continue;
    for (ValueId v : node.inputs) {
      if (v != kNone) needed[place(v)] = true;
    }
  }
  std::set<ValueId> words;
  for (const ir::Input& input : graph.inputs) {
    const ir::TensorType& type = graph.type(input.value);
    if (needed[place(input.value)] && is_words(type) && times.count(*type.shape[0].as_symbol()) != 0) words.insert(input.value);
  }
  return words;
}

}  // namespace

std::string driven_input(const ir::Graph& graph, const GenerationSpec& spec) {
  const std::multimap<std::string, ValueId> all = sequences_of(graph, spec);
  std::set<std::string> names;
  std::set<ValueId> sequences;
  for (const auto& [name, value] : all) {
    names.insert(name);
    if (name == spec.feed) sequences.insert(value);
  }
  if (sequences.empty()) {
    // `feed` may also be the name of an input from which the sequences are computed.
    std::set<ValueId> fed;
    for (const auto& [name, value] : all) fed.insert(value);
    for (ValueId v : words_below(graph, fed)) {
      if (graph.value(v).name == spec.feed) return spec.feed;
    }
    std::vector<std::string> notes = near(spec.feed, names);
    notes.push_back("note: `each` of the scan gives: " + listed(names));
    refuse("E0432 unknown-feed", "scan '" + spec.scan + "' takes no sequence '" + spec.feed + "'", std::move(notes));
  }
  const std::set<ValueId> words = words_below(graph, sequences);
  if (words.size() == 1) return graph.value(*words.begin()).name;
  const std::string what = "'" + spec.feed + "' of scan '" + spec.scan + "' ";
  if (words.empty()) {
    refuse("E0432 unknown-feed",
           what + "is " + graph.type(*sequences.begin()).str() +
               ", which is not computed from an input of the graph with a word for each step, INT32 [time, batch]",
           {"help: generation puts the last word in the place of such an input"});
  }
  std::set<std::string> inputs;
  for (ValueId v : words) inputs.insert(graph.value(v).name);
  refuse("E0432 unknown-feed", what + "is computed from several inputs: " + listed(inputs),
         {"help: name the one whose words are generated: feed: \"" + *inputs.begin() + "\""});
}

}  // namespace graphrun
