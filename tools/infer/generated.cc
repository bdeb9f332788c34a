#include "tools/infer/generated.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/infer/writers.h"
#include "tools/json/json.h"

namespace graphrun {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAlternatives = "alternatives";

// Nested as the sizes say.
Json nested(const Fetched& fetched, std::size_t axis, std::size_t& next) {
  if (axis == fetched.sizes.size()) return float_json(fetched.values.at(next++));
  Json list = Json::array();
  for (std::int64_t i = 0; i < fetched.sizes[axis]; ++i) list.push_back(nested(fetched, axis + 1, next));
  return list;
}

Json object_of(const Made& made, const Vocabulary& vocabulary) {
  Json object = {{"text", joined(made.words, vocabulary.form())},
                 {"tokens", made.words},
                 {"score", made.hypothesis.score},
                 {"log_probability", made.hypothesis.log_probability},
                 {"ended", made.hypothesis.ended}};
  if (made.alignment) {
    if (made.aligned_words) object["words"] = *made.aligned_words;
    object["units"] = made.units;
    object["alignment"] = Json::array();
    for (const std::vector<float>& weights : made.alignment->weights) {
      Json of_word = Json::array();
      for (const float weight : weights) of_word.push_back(float_json(weight));
      object["alignment"].push_back(std::move(of_word));
    }
  }
  Json fetched = Json::object();
  for (const auto& [name, steps] : made.fetched) {
    fetched[name] = Json::array();
    for (const Fetched& step : steps) {
      std::size_t next = 0;
      fetched[name].push_back(nested(step, 0, next));
    }
  }
  for (const auto& [name, whole] : made.whole) {
    std::size_t next = 0;
    fetched[name] = nested(whole, 0, next);
  }
  for (auto& [name, value] : fetched.items()) {
    const bool taken = object.contains(name) || name == kAlternatives;
    object[taken ? "fetched." + name : name] = std::move(value);
  }
  return object;
}

}  // namespace

std::vector<std::int64_t> Alignment::nearest() const {
  std::vector<std::int64_t> units;
  for (const std::vector<float>& w : weights)
    units.push_back(w.empty() ? -1 : std::max_element(w.begin(), w.end()) - w.begin());
  return units;
}

std::vector<std::int64_t> Alignment::links() const {
  std::vector<std::int64_t> links = nearest();
  for (std::size_t k = 0; k < std::min(links.size(), elsewhere.size()); ++k) {
    if (links[k] >= 0 && elsewhere[k] > weights[k][static_cast<std::size_t>(links[k])]) links[k] = -1;
  }
  return links;
}

Alignment by_input_words(const Alignment& alignment, const WordSpans& input) {
  Alignment words{{}, alignment.elsewhere};
  for (const std::vector<float>& weights : alignment.weights) {
    std::vector<float> sums(input.words.size(), 0.0f);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const auto [begin, end] = input.of.at(i);
      for (std::size_t w = begin; w < end; ++w) sums[w] += weights[i] / static_cast<float>(end - begin);
    }
    words.weights.push_back(std::move(sums));
  }
  return words;
}

Alignment by_made_words(const Alignment& alignment, const WordSpans& made) {
  const std::size_t units = alignment.weights.empty() ? 0 : alignment.weights[0].size();
  Alignment words;
  words.weights.assign(made.words.size(), std::vector<float>(units, 0.0f));
  if (!alignment.elsewhere.empty()) words.elsewhere.assign(made.words.size(), 0.0f);
  std::vector<float> entries(made.words.size(), 0.0f);
  for (const WordSpan& span : made.of)
    for (std::size_t w = span.begin; w < span.end; ++w) ++entries[w];
  for (std::size_t k = 0; k < alignment.weights.size(); ++k) {
    for (std::size_t w = made.of.at(k).begin; w < made.of[k].end; ++w) {
      for (std::size_t u = 0; u < units; ++u) words.weights[w][u] += alignment.weights[k][u] / entries[w];
      if (!words.elsewhere.empty()) words.elsewhere[w] += alignment.elsewhere[k] / entries[w];
    }
  }
  return words;
}

std::vector<std::string> words_of(const Hypothesis& hypothesis, const Vocabulary& vocabulary, const std::string& replace,
                                  const std::optional<Alignment>& alignment, std::span<const std::string> units) {
  const std::vector<std::int64_t> links = alignment && !replace.empty() ? alignment->nearest() : std::vector<std::int64_t>();
  std::vector<std::string> words;
  for (std::size_t k = 0; k < hypothesis.words.size(); ++k) {
    const std::string& entry = vocabulary.entry(hypothesis.words[k]);
    const bool stands_for_other = k < links.size() && links[k] >= 0 && entry == replace;
    words.push_back(stands_for_other ? units[static_cast<std::size_t>(links[k])] : entry);
  }
  return words;
}

std::string alignment_line(const Alignment& alignment) {
  std::string line;
  const std::vector<std::int64_t> links = alignment.links();
  for (std::size_t k = 0; k < links.size(); ++k) {
    if (links[k] >= 0) line += fmt::format("{}{}-{}", line.empty() ? "" : " ", links[k], k);
  }
  return line + '\n';
}

std::string best_line(std::span<const Made> made, const Vocabulary& vocabulary) {
  return (made.empty() ? "" : joined(made.front().words, vocabulary.form())) + '\n';
}

std::string n_best_lines(std::int64_t sentence, std::span<const Made> made, const Vocabulary& vocabulary, bool links) {
  std::string text;
  for (const Made& m : made) {
    text += fmt::format("{} ||| {} ||| LogProb= {:.6g} ||| {:.6g}", sentence, joined(m.words, vocabulary.form()),
                        m.hypothesis.log_probability, m.hypothesis.score);
    text += links && m.alignment ? " ||| " + alignment_line(*m.alignment) : "\n";
  }
  return text;
}

std::string json_line(std::span<const Made> made, const Vocabulary& vocabulary) {
  if (made.empty()) return "{\"text\":\"\",\"tokens\":[]}\n";
  Json object = object_of(made.front(), vocabulary);
  if (made.size() > 1) {
    for (const Made& m : made) object[kAlternatives].push_back(object_of(m, vocabulary));
  }
  return json_text(object) + '\n';
}

}  // namespace graphrun
