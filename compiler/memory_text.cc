// The memory plan for people: as text and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "compiler/memory.h"
#include "runtime/arena.h"

namespace graphrun {
namespace {

std::string_view name_of(StateSpec::Mode mode) {
  switch (mode) {
    case StateSpec::Mode::kAlternate: return "by turns";
    case StateSpec::Mode::kInPlace: return "in place";
    case StateSpec::Mode::kStacked: return "off the stack";
  }
  return "?";
}

std::string bytes_of(const ir::TensorType& type, Precision precision) {
  const auto size = static_cast<std::int64_t>(size_of(concrete(type.type, precision)));
  return (element_count(type.shape) * Dim(size)).str();
}

// "variable embedding", "fetch loss": what a root's slot is.
std::string root_slot(const ir::Graph& graph, std::size_t slot) {
  if (slot < graph.variables.size()) return "variable " + graph.value(graph.variables[slot].value).name;
  slot -= graph.variables.size();
  if (slot < graph.inputs.size()) return "feed " + graph.value(graph.inputs[slot].value).name;
  return "fetch " + graph.outputs[slot - graph.inputs.size()].name;
}

std::string body_slot(const ir::Graph& graph, std::size_t states, std::size_t slot) {
  if (slot < graph.inputs.size()) return (slot < states ? "state " : "operand ") + graph.value(graph.inputs[slot].value).name;
  slot -= graph.inputs.size();
  return fmt::format("{} {}", slot < states ? "next state" : "stack", graph.outputs[slot].name);
}

class Describer {
 public:
  explicit Describer(Precision precision) : precision_(precision) {}

  void region(const ir::Graph& graph, const RegionPlan& plan, const std::vector<StateSpec>* states, const std::string& indent);
  std::string take() { return std::move(text_); }

 private:
  std::string storage(const ir::Graph& graph, const RegionPlan& plan, const std::vector<StateSpec>* states,
                      Storage where) const {
    const auto index = static_cast<std::size_t>(std::max(where.index, 0));
    switch (where.kind) {
      case Storage::Kind::kNone: return "nowhere";
      case Storage::Kind::kBlock:
        return fmt::format("block {} [{}, {}]", index, plan.blocks[index].first, plan.blocks[index].last);
      case Storage::Kind::kSlot: return states == nullptr ? root_slot(graph, index) : body_slot(graph, states->size(), index);
    }
    return "?";
  }
  template <class... Args>
  void line(const std::string& indent, fmt::format_string<Args...> format, Args&&... args) {
    text_ += indent;
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  Precision precision_;
  std::string text_;
};

void Describer::region(const ir::Graph& graph, const RegionPlan& plan, const std::vector<StateSpec>* states,
                       const std::string& indent) {
  const auto value = [&](ir::ValueId v) {
    const ir::TensorType& type = graph.type(v);
    line(indent, "  %{}: {} {}, {} bytes", graph.value(v).name, type.str(),
         storage(graph, plan, states, plan.values[static_cast<std::size_t>(v)]), bytes_of(type, precision_));
  };
  for (const ir::Variable& variable : graph.variables) value(variable.value);
  for (const ir::Input& input : graph.inputs) value(input.value);
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const ir::Node& node = graph.nodes[n];
    for (ir::ValueId v : node.outputs) {
      text_ += fmt::format("{}{:>4}", indent, n);
      value(v);
    }
    const auto scan = plan.scans.find(static_cast<std::int32_t>(n));
    if (scan == plan.scans.end()) continue;
    const ir::Graph& body = node.regions[0];
    line(indent, "      body:");
    for (std::size_t s = 0; s < scan->second.states.size(); ++s) {
      line(indent, "        state %{}: {}", body.value(body.inputs[s].value).name, name_of(scan->second.states[s].mode));
    }
    region(body, scan->second.body, &scan->second.states, indent + "      ");
  }
  for (const CopyPlan& copy : plan.copies) {
    line(indent, "  at the end %{} is copied to {}{}", graph.value(copy.from).name,
         storage(graph, plan, states, {Storage::Kind::kSlot, copy.slot}),
         copy.staging_block < 0 ? "" : fmt::format(", through block {}", copy.staging_block));
  }
}

constexpr double kStepWidth = 14, kHeight = 600, kMargin = 30;
constexpr const char* kColours[] = {"#8dd3c7", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5", "#bc80bd"};

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

class Painter {
 public:
  Painter(const Program& program, const SymbolValues& symbols) : program_(program), symbols_(symbols) {
    layout_ = layout(program, symbols);
  }

  std::string run() {
    const double width = std::max(region(0, kMargin) - kMargin, kStepWidth);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<text x=\"{2}\" y=\"20\">arena: {3} bytes</text>\n"
        "<rect x=\"{2}\" y=\"{2}\" width=\"{4:.1f}\" height=\"{5}\" fill=\"none\" stroke=\"#000\"/>\n{6}</svg>\n",
        width + 2 * kMargin, kHeight + 2 * kMargin, kMargin, layout_.bytes, width, kHeight, shapes_);
  }

 private:
  double y(std::int64_t offset) const {
    return kMargin +
           kHeight * (1 - static_cast<double>(offset) / static_cast<double>(std::max<std::int64_t>(layout_.bytes, 1)));
  }
  void rectangle(double x, double to, std::int64_t offset, std::int64_t bytes, const char* colour, const std::string& title) {
    fmt::format_to(std::back_inserter(shapes_),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#444\" "
                   "stroke-width=\"0.5\"><title>{}</title></rect>\n",
                   x, y(offset + bytes), to - x, y(offset) - y(offset + bytes), colour, escaped(title));
  }

  // Draws a region from x on, the bodies of its scans as wide as they are long; where it ends.
  double region(std::size_t index, double x) {
    const Region& source = program_.regions[index];
    std::vector<double> begin;  // of each instruction, and the end
    std::string bodies;
    for (const Instruction& instruction : source.instructions) {
      begin.push_back(x);
      x += kStepWidth;
      if (instruction.kind != Instruction::Kind::kScan) continue;
      const auto body = static_cast<std::size_t>(instruction.scan.region);
      const std::string before = std::exchange(shapes_, {});
      x = region(body, begin.back() + kStepWidth / 2) + kStepWidth / 2;
      bodies += std::exchange(shapes_, before);
      rectangle(begin.back(), x, layout_.regions[body].base, layout_.regions[body].bytes, "#eee",
                "body of " + instruction.name);
    }
    begin.push_back(x);
    blocks(index, begin);
    shapes_ += bodies;  // on top of the rectangles of their scans
    return x;
  }

  void blocks(std::size_t index, const std::vector<double>& begin) {
    const Region& source = program_.regions[index];
    std::vector<std::string> names(source.blocks.size());
    for (const ValueSpec& value : source.values) {
      if (value.storage.kind != Storage::Kind::kBlock) continue;
      std::string& name = names[static_cast<std::size_t>(value.storage.index)];
      name += (name.empty() ? "" : ", ") + value.name;
    }
    const auto x = [&](std::int32_t position) { return begin[std::min(static_cast<std::size_t>(position), begin.size() - 1)]; };
    for (std::size_t b = 0; b < source.blocks.size(); ++b) {
      const BlockSpec& block = source.blocks[b];
      const std::int64_t bytes = block.bytes.evaluate(symbols_), offset = layout_.regions[index].blocks[b];
      const std::string& name = names[b].empty() ? "between steps" : names[b];
      rectangle(x(block.first), x(block.last + 1), offset, bytes, kColours[b % std::size(kColours)],
                fmt::format("{}: {} bytes at {}", name, bytes, offset));
    }
  }

  const Program& program_;
  const SymbolValues& symbols_;
  ProgramLayout layout_;
  std::string shapes_;
};

}  // namespace

std::string describe(const MemoryPlan& plan, const ir::Graph& graph, Precision precision) {
  Describer describer(precision);
  describer.region(graph, plan.root, nullptr, "");
  return describer.take();
}

std::string arena_svg(const Program& program, const SymbolValues& symbols) { return Painter(program, symbols).run(); }

}  // namespace graphrun
