#include "tools/format/unified_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "tools/report/common_subsequence.h"

namespace graphrun {
namespace {

constexpr std::size_t kContext = 3;
// Comparing lines takes time proportional to the product of their numbers. Beyond this, all lines count as changed.
constexpr std::size_t kMostCompared = std::size_t{1} << 32;

// Each with its line feed, which the last one may lack.
std::vector<std::string_view> lines_with_ends(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

// A line of the difference: ' ' is in both texts, '-' in the first, '+' in the second.
struct DiffLine {
  char kind = ' ';
  std::string_view text;
};

std::vector<DiffLine> compared(const std::vector<std::string_view>& a, const std::vector<std::string_view>& b) {
  std::map<std::string_view, std::int32_t> numbers;
  const auto numbered = [&](const std::vector<std::string_view>& lines) {
    std::vector<std::int32_t> all;
    for (const std::string_view line : lines)
      all.push_back(numbers.emplace(line, static_cast<std::int32_t>(numbers.size())).first->second);
    return all;
  };
  const std::vector<std::int32_t> of_a = numbered(a), of_b = numbered(b);
  const bool compares = b.empty() || a.size() <= kMostCompared / b.size();
  const std::vector<bool> common = compares ? common_subsequence(of_a, of_b) : std::vector<bool>(a.size());
  std::vector<DiffLine> out;
  std::size_t j = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!common[i]) {
      out.push_back({'-', a[i]});
      continue;
    }
    for (; of_b[j] != of_a[i]; ++j) out.push_back({'+', b[j]});
    out.push_back({' ', b[j++]});
  }
  for (; j < b.size(); ++j) out.push_back({'+', b[j]});
  return out;
}

// "12,3", "12" for one line; before the first line, the number of none is that of the line before.
std::string range_text(std::size_t first, std::size_t count) {
  return count == 1 ? std::to_string(first) : fmt::format("{},{}", count == 0 ? first - 1 : first, count);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, const std::string& name) {
  if (before == after) return "";
  const std::vector<DiffLine> all = compared(lines_with_ends(before), lines_with_ends(after));
  const auto next_change = [&](std::size_t from) {
    while (from < all.size() && all[from].kind == ' ') ++from;
    return from;
  };
  std::string text = fmt::format("--- {}\n+++ {}\n", name, name);
  std::size_t old_line = 1, new_line = 1, at = 0;  // of all[at]
  const auto pass = [&](std::size_t to) {
    for (; at < to; ++at) {
      old_line += all[at].kind != '+' ? 1 : 0;
      new_line += all[at].kind != '-' ? 1 : 0;
    }
  };
  for (std::size_t change = next_change(0); change < all.size();) {
    pass(change - std::min(change - at, kContext));
    const std::size_t begin = at, old_first = old_line, new_first = new_line;
    std::size_t end = change;
    // A hunk continues while there are no more lines between changes than around them.
    while (change < all.size() && change <= end + 2 * kContext) {
      end = change;
      while (end < all.size() && all[end].kind != ' ') ++end;
      change = next_change(end);
    }
    pass(std::min(all.size(), end + kContext));
    text += fmt::format("@@ -{} +{} @@\n", range_text(old_first, old_line - old_first),
                        range_text(new_first, new_line - new_first));
    for (std::size_t i = begin; i < at; ++i) {
      text += all[i].kind;
      text += all[i].text;
      if (!all[i].text.ends_with('\n')) text += "\n\\ No newline at end of file\n";
    }
  }
  return text;
}

}  // namespace graphrun
