// A scan of words, as in a language model or a decoder, at which the graph can be cut for generation: its other operands do not
// have the words' steps.
#include <fmt/format.h>

#include "tests/random/maker.h"

namespace graphrun::random_graphs {
namespace {

constexpr std::int64_t kWords = 3, kWidth = 4;

std::string input_of(const std::vector<std::string>& all) {
  return all.empty() ? "" : fmt::format(" input: \"{}\"", fmt::join(all, ", "));
}

}  // namespace

// Everything in the body's pool is known before the first word.
void Maker::speak(Body& body, Local& root, bool has_lengths) {
  const std::vector<Operand> before = body.pool();
  std::vector<Operand> known = draw_.chance(0.8) ? some(body, 2) : std::vector<Operand>();
  const bool ragged = has_lengths && draw_.chance(0.5);
  const Dim time = Symbol::named("time");
  const Operand ids = body.add("ids", {Type::kInt32, {time, batch_rows()}}, kWords);
  const Operand E = body.parameter({kWords, kWidth});
  const std::string x = body.fresh("v");
  body.line(fmt::format("let: \"{} = gather({}, ids)\"", x, body.use(E)));
  const Operand embedded = body.add(x, {Type::kFloat, {time, batch_rows(), kWidth}});
  GenerationSpec spec;
  std::string last;
  if (draw_.chance(0.25)) {
    last = driven_layers(body, root, embedded, known, ragged);
    spec.scan = last.substr(0, last.find('.')) + ".read";
  } else {
    std::vector<Operand> each = {embedded};
    if (draw_.chance(0.4)) each.push_back(ids);
    const std::string name = driven_scan(body, root, each, known, ragged);
    spec.scan = name, last = name + ".wanted";
    if (draw_.chance(0.3)) {
      const Operand again = body.add(last, {Type::kFloat, {time, batch_rows(), kWidth}});
      last = driven_scan(body, root, {again}, draw_.chance(0.5) ? known : std::vector<Operand>(), ragged) + ".wanted";
      coverage_.seen("two scans of words, one upon the other");
    }
  }
  spec.feed = draw_.chance(0.5) ? "s0" : "ids";
  const Operand P = body.parameter({kWidth, kWords});
  static const std::vector<std::string> kScores = {"{0} @ {1}", "tanh({0} @ {1}) * 3", "softmax({0} @ {1}, axis=-1)",
                                                   "({0} + {2}) @ {1}", "where({0} > 0, {0}, {2}) @ {1}"};
  spec.score = "score";
  std::string outputs = "score = " + fmt::format(fmt::runtime(draw_.any(kScores)), last, body.use(P), x);
  if (draw_.chance(0.5)) {
    outputs += fmt::format(", said = {} * 2", last);
    spec.fetches.push_back("said");
  }
  if (!before.empty() && draw_.chance(0.4)) {
    const Operand& one = draw_.any(before);
    outputs += ", kept = " + body.use(one);
    spec.fetches.push_back("kept");
  }
  body.line("output: \"" + outputs + "\"");
  generation_ = spec;
  coverage_.seen("scan of words");
}

// Writes the scan and returns its name; its output "wanted" is [time, batch, kWidth].
std::string Maker::driven_scan(Body& body, Local& root, std::vector<Operand> each, const std::vector<Operand>& known,
                               bool ragged) {
  Scanned how;
  std::vector<Port> ports;
  for (const Operand& o : each) {
    Port port = port_of(body, o, fmt::format("s{}", ports.size()));
    port.type.shape.erase(port.type.shape.begin());
    ports.push_back(port);
  }
  for (const Operand& o : known) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
  how.each = each.size();
  how.operands = std::move(each);
  how.operands.insert(how.operands.end(), known.begin(), known.end());
  if (ragged) how.lengths = "lengths";
  // The initial states must also be known in advance.
  how.begins_anyhow = false;
  Around inside{1, true, ragged};
  inside.wanted = ir::TensorType{Type::kFloat, {batch_rows(), kWidth}};
  how.graph = local(ports, "", inside);
  if (can_be_stream(locals_[how.graph], {.rows = ragged, .root = true}) && draw_.chance(0.2)) how.stream = true;
  return scan_line(body, root, {.root = true}, how);
}

// A stack of layers, each with its own scan; returns the output of the last.
std::string Maker::driven_layers(Body& body, Local& root, const Operand& x, const std::vector<Operand>& known, bool ragged) {
  const ir::TensorType step{Type::kFloat, {batch_rows(), kWidth}};
  std::vector<Port> ports = {{"s0", step}};
  for (const Operand& o : known) ports.push_back(port_of(body, o, fmt::format("i{}", ports.size())));
  Around inside{2, true, ragged};
  inside.wanted = step;
  const std::size_t cell = local(ports, "", inside);
  Local layer;
  layer.name = fmt::format("g{}", graphs_++);
  layer.text = fmt::format("name: \"{}\"\ninput {{ name: \"x\" shape: \"[time, batch, {}]\" }}\n", layer.name, kWidth);
  std::vector<std::string> given, handed;
  for (std::size_t k = 0; k < known.size(); ++k) {
    const Port& port = ports[k + 1];
    layer.text +=
        fmt::format("input {{ name: \"{}\" shape: \"{}\"{} }}\n", port.name, str(port.type.shape), text_of(port.type.type));
    given.push_back(port.name), handed.push_back(port.name + " = " + body.use(known[k]));
  }
  if (ragged) layer.text += "input { name: \"lengths\" shape: \"[batch]\" type: INT32 }\n", handed.push_back("lengths");
  layer.text += fmt::format("scan {{ name: \"read\" graph: \"{}\" each: \"s0 = x\"{}{}{} }}\n", locals_[cell].name,
                            input_of(given), given_args(locals_[cell], false), ragged ? " lengths: \"lengths\"" : "");
  layer.text += draw_.chance(0.5) ? "output: \"x = read.wanted\"\n" : "output: \"x = 0.5 * x + read.wanted\"\n";
  coverage_.scan(locals_[cell].traits, false, ragged);
  inherit(layer, cell, false);
  locals_.push_back(layer);
  inherit(root, locals_.size() - 1, true);
  const std::string name = body.fresh("layers");
  body.line(fmt::format("repeat {{ name: \"{}\" graph: \"{}\" times: \"{}\" carry: \"x = {}\"{} }}", name, layer.name,
                        draw_.between(1, 3), body.use(x), input_of(handed)));
  body.add(name + ".x", body.type(x));
  coverage_.seen("scans of words in layers");
  return name + ".x";
}

}  // namespace graphrun::random_graphs
