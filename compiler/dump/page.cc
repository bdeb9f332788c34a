#include "compiler/dump/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "compiler/dump/layout.h"
#include "compiler/dump/page_text.h"
#include "compiler/dump/picture.h"
#include "compiler/frontend/source.h"
#include "runtime/base/markup.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Outline::Kind;

// Sizes in points; text is drawn at kFont.
constexpr double kFont = 10, kLine = 13, kLetter = 5.7, kMargin = 8, kTitle = 22;
constexpr std::size_t kWrap = 38, kMostLines = 6;
// The inside of a group is drawn smaller if it would be larger than this.
constexpr double kWidest = 1100, kHighest = 900;
constexpr double kEquationScale = 0.5;  // the operators of an equation

struct Extent {
  double width = 0, height = 0;
};

// ---- the text of a box

std::size_t letters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// Breaks at spaces. The rest of a text that is too long is left out.
std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines;
  std::string line;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (!line.empty() && letters(line) + 1 + letters(word) > kWrap) {
      lines.push_back(std::move(line));
      line.clear();
      if (lines.size() == kMostLines) {
        lines.back() += " …";
        return lines;
      }
    }
    line += (line.empty() ? "" : " ") + word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

// A name without the path of the group that its box is in: in "encode.forward", "d.encode.forward.wx" is "d.wx".
std::string without_path(const Outline& o, const Outline::Part& box) {
  std::string path;
  for (int p = box.parent; p > 0; p = o.boxes[static_cast<std::size_t>(p)].parent) {
    const Outline::Part& group = o.boxes[static_cast<std::size_t>(p)];
    if (group.kind != Kind::kGroup || group.places.empty()) continue;
    std::string name = group.name;  // "layers[2]" stands for "layers.2"
    if (name.ends_with("]")) name.pop_back(), name[name.rfind('[')] = '.';
    path.insert(0, name + ".");
  }
  const std::size_t gradient = box.name.starts_with("d.") ? 2 : 0;
  if (path.empty() || box.name.compare(gradient, path.size(), path) != 0) return box.name;
  return box.name.substr(0, gradient) + box.name.substr(gradient + path.size());
}

// What stands for a box whose text is too small to read: the left side of an equation, or a name.
std::string short_name(const Outline& o, const Outline::Part& box) {
  if (box.kind == Kind::kGroup) return box.name;
  if (box.kind != Kind::kEquation && box.kind != Kind::kNode) return without_path(o, box);
  const std::size_t equals = box.text.find(" = ");
  return equals == std::string::npos || equals > 24 ? box.op : box.text.substr(0, equals);
}

std::vector<std::string> lines_of(const Outline& o, const Outline::Part& box) {
  std::vector<std::string> lines;
  switch (box.kind) {
    case Kind::kGroup: return {box.text.empty() ? box.name : box.name + ": " + box.text};
    case Kind::kEquation:
    case Kind::kNode: lines = wrapped(box.text); break;
    case Kind::kInput:
    case Kind::kVariable:
    case Kind::kState:
    case Kind::kOutput:
    case Kind::kPort: lines = wrapped(without_path(o, box)); break;
  }
  if (!box.type.empty()) lines.push_back(box.type);
  return lines;
}

Extent size_of(const std::vector<std::string>& lines) {
  std::size_t longest = 3;
  for (const std::string& line : lines) longest = std::max(longest, letters(line));
  return {kLetter * static_cast<double>(longest) + 2 * kMargin, kLine * static_cast<double>(lines.size()) + kMargin};
}

// ---- places

struct Placed {
  double x = 0, y = 0;  // of the upper left corner, inside the parent
  Extent size;
  Extent inside;     // of what it contains
  double scale = 1;  // of what it contains
  std::vector<std::string> lines;
};
struct PlacedArrow {
  const Outline::Line* arrow = nullptr;
  std::vector<double> points;  // x, y of a Bézier spline, inside the parent
};

class PageLayout {
 public:
  explicit PageLayout(const Outline& o)
      : o_(o), places_(o.boxes.size()), children_(o.boxes.size()), number_(o.boxes.size()), arrows_(o.boxes.size()) {
    std::vector<std::size_t> depth(o.boxes.size());  // parents precede children
    std::vector<std::vector<std::size_t>> levels(1, {0});
    for (std::size_t i = 1; i < o.boxes.size(); ++i) {
      number_[i] = children_[parent(i)].size();
      children_[parent(i)].push_back(i);
      depth[i] = depth[parent(i)] + 1;
      levels.resize(std::max(levels.size(), depth[i] + 1));
      levels[depth[i]].push_back(i);
    }
    for (const Outline::Line& a : o.arrows) arrows_[parent(static_cast<std::size_t>(a.from))].push_back({&a, {}});
    for (std::size_t l = levels.size(); l-- > 0;) place(levels[l]);
  }
  const Placed& at(std::size_t box) const { return places_[box]; }
  const std::vector<PlacedArrow>& arrows(std::size_t group) const { return arrows_[group]; }

 private:
  std::size_t parent(std::size_t i) const { return static_cast<std::size_t>(o_.boxes[i].parent); }

  // Places what the boxes of a level contain, and so determines their sizes. One run of Graphviz does it for all of them.
  void place(const std::vector<std::size_t>& level) {
    std::string dot;
    for (const std::size_t i : level) {
      places_[i].lines = lines_of(o_, o_.boxes[i]);
      places_[i].size = size_of(places_[i].lines);
      if (!children_[i].empty()) dot += inside(i);
    }
    if (dot.empty()) return;
    std::istringstream plain(lay_out(dot, "plain"));
    for (const std::size_t i : level) {
      if (!children_[i].empty()) read(plain, i), enclose(i);
    }
  }

  std::string inside(std::size_t group) const {
    std::string dot =
        "digraph {\n graph [rankdir=TB ranksep=0.35 nodesep=0.2];\n node [shape=box fixedsize=true label=\"\"];\n";
    for (const std::size_t c : children_[group])
      dot += fmt::format(" {} [width={:.4f} height={:.4f}];\n", number_[c], places_[c].size.width / 72,
                         places_[c].size.height / 72);
    for (const PlacedArrow& a : arrows_[group]) {
      const auto [from, to] = ends(*a.arrow);
      dot += fmt::format(" {} -> {}{};\n", from, to, a.arrow->feedback ? " [constraint=false]" : "");
    }
    return dot + "}\n";
  }

  std::pair<std::size_t, std::size_t> ends(const Outline::Line& arrow) const {
    return {number_[static_cast<std::size_t>(arrow.from)], number_[static_cast<std::size_t>(arrow.to)]};
  }

  void read(std::istream& plain, std::size_t group) {
    std::map<std::pair<std::size_t, std::size_t>, std::vector<PlacedArrow*>> drawn;  // by ends, as Graphviz prints them
    for (PlacedArrow& a : arrows_[group]) drawn[ends(*a.arrow)].push_back(&a);
    double height = 0;
    for (std::string word; plain >> word && word != "stop";) {
      if (word == "graph") {
        double scale = 0, width = 0;
        plain >> scale >> width >> height;
        places_[group].inside = {72 * width, 72 * height};
      } else if (word == "node") {
        std::size_t n = 0;
        double x = 0, y = 0;
        plain >> n >> x >> y;
        Placed& p = places_[children_[group].at(n)];
        p.x = 72 * x - p.size.width / 2, p.y = 72 * (height - y) - p.size.height / 2;
      } else if (word == "edge") {
        std::size_t from = 0, to = 0, count = 0;
        plain >> from >> to >> count;
        std::vector<PlacedArrow*>& waiting = drawn.at({from, to});
        for (std::size_t i = 0; i < count; ++i) {
          double x = 0, y = 0;
          plain >> x >> y;
          waiting.back()->points.insert(waiting.back()->points.end(), {72 * x, 72 * (height - y)});
        }
        waiting.pop_back();
      }
      plain.ignore(1 << 30, '\n');
    }
  }

  void enclose(std::size_t group) {
    Placed& p = places_[group];
    const bool equation = o_.boxes[group].kind == Kind::kEquation;
    p.scale = equation ? kEquationScale : std::min({1., kWidest / p.inside.width, kHighest / p.inside.height});
    const double title = equation ? p.size.height : kTitle;
    p.size = {std::max(p.size.width, p.inside.width * p.scale + 2 * kMargin), title + p.inside.height * p.scale + kMargin};
  }

  const Outline& o_;
  std::vector<Placed> places_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> number_;               // among the children of the parent
  std::vector<std::vector<PlacedArrow>> arrows_;  // by group
};

// ---- the page's data

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kGroup: return "group";
    case Kind::kEquation: return "equation";
    case Kind::kNode: return "node";
    case Kind::kInput: return "input";
    case Kind::kVariable: return "variable";
    case Kind::kState: return "state";
    case Kind::kOutput: return "output";
    case Kind::kPort: return "port";
  }
  return "";
}

double tenth(double x) { return std::round(10 * x) / 10; }

class PageWriter {
 public:
  Json data(const Page& page) {
    Json out = {{"title", page.title}, {"stages", Json::array()}};
    for (const PageStage& stage : page.stages) out["stages"].push_back(stage_json(stage));
    for (const auto& [symbol, size] : page.sizes) out["sizes"][symbol.name()] = size;
    out["arena"] = page.arena, out["memory"] = Json::object();
    for (const auto& [name, memory] : page.memory) {
      Json blocks = Json::array();
      for (const PageMemory::Block& b : memory.blocks) blocks.push_back({b.offset, b.bytes, b.first, b.last});
      out["memory"][name] = {memory.bytes, std::move(blocks)};
    }
    out["milliseconds"] = page.milliseconds, out["kernels"] = page.kernels;
    out["places"] = places_, out["files"] = Json::array();
    for (const std::string* file : files_) out["files"].push_back({{"path", *file}, {"text", text_of(*file)}});
    return out;
  }

 private:
  // A file that is not there any more, or text of a command line, is left out.
  static std::string text_of(const std::string& file) {
    try {
      return read_source(file);
    } catch (const UserError&) {
      return "";
    }
  }

  std::size_t number(const std::string* file) {
    const auto [it, added] = numbers_.try_emplace(file, files_.size());
    if (added) files_.push_back(file);
    return it->second;
  }

  // The number of a place in the table of places: [file, line, column] of the place, then of each call that led there.
  std::size_t place(const Location& at) {
    Json list = Json::array();
    for (const Location* l = &at; l != nullptr; l = l->via) {
      if (l->known()) list.push_back({number(l->file), l->line, l->column});
    }
    const auto [it, added] = place_numbers_.try_emplace(list.dump(), places_.size());
    if (added) places_.push_back(std::move(list));
    return it->second;
  }

  Json box_json(const Outline& o, const Outline::Part& box, const Placed& p) {
    Json out = {{"k", kind_name(box.kind)}, {"n", box.name}, {"s", short_name(o, box)}, {"p", box.parent}, {"l", p.lines}};
    if (!box.text.empty()) out["t"] = box.text;
    if (!box.op.empty()) out["o"] = box.op;
    if (!box.type.empty()) out["e"] = box.type;
    if (!box.family.empty()) out["c"] = family_color(box.family);
    if (box.gradient) out["g"] = 1;
    if (box.leaves) out["u"] = 1;
    if (!box.loop.empty()) out["v"] = box.loop;
    if (!box.operations.is(0)) out["f"] = box.operations.str();
    out["r"] = {tenth(p.x), tenth(p.y), tenth(p.size.width), tenth(p.size.height)};
    if (p.inside.width > 0) out["i"] = {tenth(p.inside.width), tenth(p.inside.height), p.scale};
    for (const Location& at : box.places) out["a"].push_back(place(at));
    return out;
  }

  Json stage_json(const PageStage& stage) {
    const PageLayout layout(stage.outline);
    Json out = {{"name", stage.name}, {"boxes", Json::array()}, {"arrows", Json::array()}};
    for (std::size_t i = 0; i < stage.outline.boxes.size(); ++i) {
      out["boxes"].push_back(box_json(stage.outline, stage.outline.boxes[i], layout.at(i)));
      for (const PlacedArrow& a : layout.arrows(i)) {
        Json points = Json::array();
        for (const double x : a.points) points.push_back(std::lround(x));
        out["arrows"].push_back({i, a.arrow->from, a.arrow->to, a.arrow->feedback ? 1 : 0, a.arrow->label, std::move(points)});
      }
    }
    return out;
  }

  std::vector<const std::string*> files_;
  std::map<const std::string*, std::size_t> numbers_;
  std::vector<Json> places_;
  std::unordered_map<std::string, std::size_t> place_numbers_;
};

// JSON within a script element: "</script>" or "<!--" in a text must not end it.
std::string in_script(const Json& data) {
  std::string text = data.dump(-1, ' ', false, Json::error_handler_t::replace), out;
  for (const char c : text) c == '<' ? out += "\\u003c" : out += c;
  return out;
}

}  // namespace

std::string html(const Page& page) {
  const std::map<std::string_view, std::string> parts = {{"TITLE", escaped(page.title)},
                                                         {"STYLE", std::string(page_css())},
                                                         {"SCRIPT", std::string(page_js())},
                                                         {"DATA", in_script(PageWriter().data(page))}};
  std::string text;
  std::string_view rest = page_html();
  for (std::size_t at = rest.find("{{"); at != std::string_view::npos; at = rest.find("{{")) {
    const std::size_t end = rest.find("}}", at);
    text += rest.substr(0, at);
    text += parts.at(rest.substr(at + 2, end - at - 2));
    rest.remove_prefix(end + 2);
  }
  text += rest;
  return text;
}

}  // namespace graphrun
