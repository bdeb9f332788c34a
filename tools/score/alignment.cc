#include "tools/score/alignment.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "tools/text/lines.h"
#include "tools/text/text.h"

namespace graphrun {
namespace {

constexpr const char* kCode = "E0658 bad-alignment";

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// Parses a link: two positions with `between` in the middle. False if it is not a link.
bool parse_link(std::string_view text, char between, std::int64_t from, Link& link) {
  const std::size_t at = text.find(between);
  if (at == std::string_view::npos || !parse(text.substr(0, at), link.first) || !parse(text.substr(at + 1), link.second))
    return false;
  link.first -= from;
  link.second -= from;
  return link.first >= 0 && link.second >= 0;
}

[[noreturn]] void bad_link(const std::string& link, const char* expected, std::int64_t from, const LinePlace& place) {
  data_error(kCode, place.file, place.line, 0,
             fmt::format("'{}' is not a link; expected {}, word positions counted from {}", link, expected, from));
}

}  // namespace

GoldAlignment parse_gold(const std::string& line, std::int64_t from, const LinePlace& place) {
  GoldAlignment gold;
  for (const std::string& text : words_of(line)) {
    Link link;
    const bool sure = parse_link(text, '-', from, link);
    if (!sure && !parse_link(text, 'p', from, link)) bad_link(text, "SOURCE-TARGET or SOURCEpTARGET", from, place);
    if (sure) gold.sure.insert(link);
    gold.possible.insert(link);
  }
  return gold;
}

std::set<Link> parse_links(const std::string& line, std::int64_t from, const LinePlace& place) {
  std::set<Link> links;
  for (const std::string& text : words_of(line)) {
    Link link;
    if (!parse_link(text, '-', from, link)) bad_link(text, "SOURCE-TARGET", from, place);
    links.insert(link);
  }
  return links;
}

std::vector<std::vector<double>> parse_weights(const std::string& line, const LinePlace& place) {
  std::vector<std::vector<double>> weights;
  for (const std::string& text : words_of(line)) {
    std::vector<double>& row = weights.emplace_back();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view number = std::string_view(text).substr(begin, end - begin);
      if (!parse(number, row.emplace_back()) || !std::isfinite(row.back()) || row.back() < 0)
        data_error(
            kCode, place.file, place.line, 0,
            fmt::format("'{}' is not a weight; expected non-negative numbers separated by commas, one list for each target "
                        "word",
                        number));
      begin = end + 1;
    }
  }
  return weights;
}

void AlignmentErrorRate::add(const std::set<Link>& links, const GoldAlignment& gold) {
  for (const Link& link : links) {
    sure_ += gold.sure.count(link) != 0 ? 1 : 0;
    possible_ += gold.possible.count(link) != 0 ? 1 : 0;
  }
  made_ += static_cast<double>(links.size());
  gold_ += static_cast<double>(gold.sure.size());
}

void AlignmentErrorRate::add(const std::vector<std::vector<double>>& weights, const GoldAlignment& gold) {
  for (std::size_t target = 0; target < weights.size(); ++target) {
    for (std::size_t source = 0; source < weights[target].size(); ++source) {
      const Link link(static_cast<std::int64_t>(source), static_cast<std::int64_t>(target));
      const double weight = weights[target][source];
      sure_ += gold.sure.count(link) != 0 ? weight : 0;
      possible_ += gold.possible.count(link) != 0 ? weight : 0;
      made_ += weight;
    }
  }
  gold_ += static_cast<double>(gold.sure.size());
}

double AlignmentErrorRate::rate() const { return made_ + gold_ > 0 ? 1 - (sure_ + possible_) / (made_ + gold_) : 0; }

}  // namespace graphrun
