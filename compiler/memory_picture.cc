// The arena over time, as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/memory.h"
#include "runtime/arena.h"

namespace graphrun {
namespace {

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

std::string arena_svg(const Program& program, const SymbolValues& symbols) { return Painter(program, symbols).run(); }

}  // namespace graphrun
