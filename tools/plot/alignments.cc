#include "tools/plot/alignments.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/base/markup.h"
#include "tools/json/json.h"
#include "tools/text/lines.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr int kCell = 22, kLetter = 8, kMargin = 14, kTitle = 24;
constexpr double kSlope = 0.72;  // slope of the units' names: sine and cosine of about 45 degrees

std::int64_t letters(const std::vector<std::string>& words) {
  std::size_t most = 0;
  for (const std::string& word : words) most = std::max(most, code_points(word).size());
  return static_cast<std::int64_t>(most);
}

class Picture {
 public:
  explicit Picture(const AlignedSentence& sentence)
      : s_(sentence),
        left_(static_cast<int>(letters(s_.words)) * kLetter + kMargin),
        top_(static_cast<int>(static_cast<double>(letters(s_.units) * kLetter) * kSlope) + kTitle + kMargin) {}

  int width() const { return left_ + static_cast<int>(s_.units.size()) * kCell + top_; }
  int height() const { return top_ + static_cast<int>(s_.words.size()) * kCell + kMargin; }

  std::string draw(int from_top) const {
    std::string svg = fmt::format("<g transform=\"translate(0 {})\">\n<text class=\"title\" x=\"{}\" y=\"16\">line {}</text>\n",
                                  from_top, kMargin, s_.line);
    for (std::size_t u = 0; u < s_.units.size(); ++u) {
      const int x = left_ + static_cast<int>(u) * kCell + kCell / 2;
      svg += fmt::format("<text transform=\"translate({} {}) rotate(-45)\">{}</text>\n", x, top_ - 6, escaped(s_.units[u]));
    }
    for (std::size_t w = 0; w < s_.words.size(); ++w) {
      const int y = top_ + static_cast<int>(w) * kCell;
      svg += fmt::format("<text text-anchor=\"end\" x=\"{}\" y=\"{}\">{}</text>\n", left_ - 6, y + 15, escaped(s_.words[w]));
      for (std::size_t u = 0; u < s_.units.size(); ++u) {
        const double weight = std::clamp(s_.weights[w][u], 0.0, 1.0);
        svg += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill-opacity=\"{:.3f}\"><title>{} – {}: "
            "{:.3f}</title></rect>\n",
            left_ + static_cast<int>(u) * kCell, y, kCell - 1, kCell - 1, weight, escaped(s_.words[w]), escaped(s_.units[u]),
            weight);
      }
    }
    return svg + "</g>\n";
  }

 private:
  const AlignedSentence& s_;
  const int left_, top_;  // corner of the cells
};

AlignedSentence parse_line(const std::string& text, const std::string& path, std::int64_t number) {
  const auto fail = [&](const char* why) {
    data_error("E0691 bad-alignments", path, number, 0, why,
               {"help: graphrun infer MODEL --json writes such lines, where the job's generate block aligns"});
  };
  const nlohmann::json object = parse_json_or_discard(text);
  AlignedSentence sentence;
  sentence.line = number;
  if (object.is_object() && object.value("text", "?").empty()) return sentence;
  if (!object.is_object() || !object.contains("tokens")) fail("expected an object with the words generated for a line");
  if (!object.contains("alignment") || !object.contains("units")) fail("the words are aligned to nothing");
  try {
    sentence.units = object.at("units").get<std::vector<std::string>>();
    sentence.words = object.at(object.contains("words") ? "words" : "tokens").get<std::vector<std::string>>();
    sentence.weights = object.at("alignment").get<std::vector<std::vector<double>>>();
  } catch (const nlohmann::json::exception&) {
    fail("the words, units or weights are of the wrong type");
  }
  bool fits = sentence.weights.size() == sentence.words.size();
  for (const std::vector<double>& weights : sentence.weights) fits = fits && weights.size() == sentence.units.size();
  if (!fits) fail("there are not as many weights as words and units");
  return sentence;
}

}  // namespace

std::vector<AlignedSentence> parse_alignments(const std::string& text, const std::string& path) {
  std::vector<AlignedSentence> sentences;
  std::istringstream lines(text);
  std::int64_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \r") == std::string::npos) continue;
    AlignedSentence sentence = parse_line(line, path, number);
    if (!sentence.words.empty() && !sentence.units.empty()) sentences.push_back(std::move(sentence));
  }
  return sentences;
}

std::string draw_alignments(const std::vector<AlignedSentence>& sentences) {
  std::string body;
  int width = 0, height = 0;
  for (const AlignedSentence& sentence : sentences) {
    const Picture picture(sentence);
    body += picture.draw(height);
    width = std::max(width, picture.width());
    height += picture.height();
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
             "<style>text {{ font: 13px sans-serif; fill: #222 }} .title {{ font-weight: bold }} rect {{ fill: #0072b2; "
             "stroke: #ddd }}"
             "</style>\n<rect width=\"{0}\" height=\"{1}\" style=\"fill: white; stroke: none\"/>\n",
             width, height) +
         body + "</svg>\n";
}

}  // namespace graphrun
