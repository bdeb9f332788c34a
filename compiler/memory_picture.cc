// The arena over time, as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "compiler/memory.h"
#include "runtime/base/markup.h"
#include "runtime/program/arena.h"

namespace graphrun {
namespace {

constexpr double kStepWidth = 14, kHeight = 600, kMargin = 30;
constexpr double kLeft = 90;        // space to the left of the arena, for the axis
constexpr double kBelow = 90;       // space below the arena, for the other axis and the legend
constexpr double kNarrowest = 520;  // width of the legend
constexpr int kTicks = 6, kMostPositions = 12;
constexpr const char* kColors[] = {"#8dd3c7", "#bebada", "#fb8072", "#80b1d3", "#fdb462", "#b3de69", "#fccde5", "#bc80bd"};

constexpr const char* kBody = "#eee";

class Painter {
 public:
  Painter(const Program& program, const SymbolValues& symbols) : program_(program), symbols_(symbols) {
    layout_ = layout(program, symbols);
  }

  std::string run() {
    const double width = std::max(region(0, kLeft) - kLeft, kStepWidth);
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<text x=\"{2}\" y=\"20\">arena: {3} bytes</text>\n"
        "<rect x=\"{2}\" y=\"{7}\" width=\"{4:.1f}\" height=\"{5}\" fill=\"none\" stroke=\"#000\"/>\n{6}{8}</svg>\n",
        kLeft + std::max(width, kNarrowest) + kMargin, kMargin + kHeight + kBelow, kLeft, layout_.bytes, width, kHeight,
        shapes_, kMargin, axes(width));
  }

 private:
  // The axes (bytes upwards, instructions from left to right) and the legend.
  std::string axes(double width) const {
    std::string text;
    const auto out = std::back_inserter(text);
    for (int t = 0; t <= kTicks; ++t) {
      const std::int64_t bytes = layout_.bytes / kTicks * t + layout_.bytes % kTicks * t / kTicks;
      fmt::format_to(out,
                     "<line x1=\"{0}\" y1=\"{1:.1f}\" x2=\"{2}\" y2=\"{1:.1f}\" stroke=\"#000\"/>"
                     "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
                     kLeft - 5, y(bytes), kLeft, kLeft - 8, y(bytes) + 4, bytes);
    }
    fmt::format_to(out, "<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">byte of the arena</text>\n",
                   kMargin + kHeight / 2);
    const double floor = kMargin + kHeight;
    const std::size_t every = std::max<std::size_t>(1, (starts_.size() + kMostPositions - 1) / kMostPositions);
    for (std::size_t k = 0; k < starts_.size(); k += every) {
      fmt::format_to(out,
                     "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#000\"/>"
                     "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                     starts_[k], floor, floor + 5, floor + 18, k);
    }
    fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">instruction, in the order they run</text>\n",
                   kLeft + std::max(width, kNarrowest) / 2, floor + 36);
    double x = kLeft;
    const auto entry = [&](const char* color, const char* what, double takes) {
      fmt::format_to(out,
                     "<rect x=\"{}\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"#444\" stroke-width=\"0.5\"/>"
                     "<text x=\"{}\" y=\"{}\">{}</text>\n",
                     x, floor + 54, color, x + 18, floor + 64, what);
      x += takes;
    };
    entry(kColors[0], "a value, from its creation to its last use", 370);
    entry(kBody, "the body of a loop", 140);
    fmt::format_to(out, "<text x=\"{}\" y=\"{}\">colors only distinguish neighbors; point at a rectangle for its name</text>\n",
                   kLeft, floor + 84);
    return text;
  }

  double y(std::int64_t offset) const {
    return kMargin +
           kHeight * (1 - static_cast<double>(offset) / static_cast<double>(std::max<std::int64_t>(layout_.bytes, 1)));
  }
  void rectangle(double x, double to, std::int64_t offset, std::int64_t bytes, const char* color, const std::string& title) {
    fmt::format_to(std::back_inserter(shapes_),
                   "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#444\" "
                   "stroke-width=\"0.5\"><title>{}</title></rect>\n",
                   x, y(offset + bytes), to - x, y(offset) - y(offset + bytes), color, escaped(title));
  }

  // Draws a region from x on; the width of a scan's body is its number of instructions. Returns where the region ends.
  double region(std::size_t index, double x) {
    const Region& source = program_.regions[index];
    std::vector<double> begin;  // start of each instruction, and the end
    std::string bodies;
    for (const Instruction& instruction : source.instructions) {
      begin.push_back(x);
      if (index == 0) starts_.push_back(x);
      x += kStepWidth;
      if (instruction.kind != Instruction::Kind::kScan) continue;
      const auto body = static_cast<std::size_t>(instruction.scan.region);
      const std::string before = std::exchange(shapes_, {});
      x = region(body, begin.back() + kStepWidth / 2) + kStepWidth / 2;
      bodies += std::exchange(shapes_, before);
      rectangle(begin.back(), x, layout_.regions[body].base, layout_.regions[body].bytes, kBody, "body of " + instruction.name);
    }
    begin.push_back(x);
    blocks(index, begin);
    shapes_ += bodies;  // drawn over the rectangles of their scans
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
      rectangle(x(block.first), x(block.last + 1), offset, bytes, kColors[b % std::size(kColors)],
                fmt::format("{}: {} bytes at {}", name, bytes, offset));
    }
  }

  const Program& program_;
  const SymbolValues& symbols_;
  ProgramLayout layout_;
  std::string shapes_;
  std::vector<double> starts_;  // start of each instruction of the root
};

}  // namespace

std::string arena_svg(const Program& program, const SymbolValues& symbols) { return Painter(program, symbols).run(); }

}  // namespace graphrun
