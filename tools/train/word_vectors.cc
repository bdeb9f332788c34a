#include "tools/train/word_vectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/text/lines.h"
#include "tools/text/text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

// The word of a line, and the text of its last `width` fields.
struct Line {
  std::string_view word;
  std::vector<std::string_view> numbers;
};

Line cut(std::string_view line, std::size_t width) {
  Line parts;
  parts.numbers.resize(width);
  const auto trim = [&] {
    while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  };
  for (std::size_t k = width; k-- > 0;) {
    trim();
    std::size_t begin = line.size();
    while (begin > 0 && !is_space(line[begin - 1])) --begin;
    parts.numbers[k] = line.substr(begin);
    line = line.substr(0, begin);
  }
  trim();
  parts.word = line;
  return parts;
}

std::size_t count_fields(std::string_view line) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < line.size(); ++i) count += !is_space(line[i]) && (i == 0 || is_space(line[i - 1])) ? 1 : 0;
  return count;
}

bool whole_numbers(std::string_view line) {
  return std::all_of(line.begin(), line.end(), [](char c) { return is_space(c) || (c >= '0' && c <= '9'); });
}

class Filler {
 public:
  Filler(const VectorFile& file, const Vocabulary& vocabulary, Tensor& rows)
      : vocabulary_(vocabulary),
        rows_(rows),
        width_(static_cast<std::size_t>(rows.sizes()[1])),
        lines_(file.path),
        found_(static_cast<std::size_t>(vocabulary.size()), Found::kNot) {
    if (!file.lowercase) return;
    for (std::int32_t i = 0; i < vocabulary.size(); ++i) lowered_[lower_case(vocabulary.entry(i))].push_back(i);
  }

  VectorCoverage fill() {
    std::string line;
    while (lines_.next(line)) {
      if (line.empty()) continue;
      if (!begun_ && !begin(line)) continue;
      take(line);
    }
    VectorCoverage coverage;
    for (const Found found : found_) {
      coverage.found += found != Found::kNot ? 1 : 0;
      coverage.lowercased += found == Found::kLowered ? 1 : 0;
    }
    return coverage;
  }

 private:
  enum class Found : std::uint8_t { kNot, kLowered, kItself };

  // Checks with the first line that the file fits. Returns whether that line has a word.
  bool begin(const std::string& line) {
    const std::size_t fields = count_fields(line);
    if (fields == 2 && width_ != 1 && whole_numbers(line)) return false;
    begun_ = true;
    if (fields != width_ + 1) {
      data_error("E0656 bad-vectors", lines_.name(), lines_.line(), 0,
                 fmt::format("{} numbers after the word; the parameter's rows have {}", fields == 0 ? 0 : fields - 1, width_));
    }
    return true;
  }

  void take(const std::string& line) {
    const Line parts = cut(line, width_);
    if (parts.word.empty()) {
      data_error("E0656 bad-vectors", lines_.name(), lines_.line(), 0,
                 fmt::format("expected a word and {} numbers, found {} fields", width_, count_fields(line)));
    }
    const std::int32_t number = vocabulary_.has(parts.word) ? vocabulary_.number(parts.word) : -1;
    if (number >= 0) put(parts, line, number, Found::kItself);
    const auto others = lowered_.find(std::string(parts.word));
    if (others == lowered_.end()) return;
    for (const std::int32_t other : others->second) put(parts, line, other, Found::kLowered);
  }

  void put(const Line& parts, const std::string& line, std::int32_t row, Found how) {
    Found& found = found_[static_cast<std::size_t>(row)];
    if (found >= how) return;
    found = how;
    for (std::size_t k = 0; k < width_; ++k) {
      const std::string_view text = parts.numbers[k];
      const std::optional<ParsedNumber> number = parse_number(text);
      const auto refuse = [&](const char* why) {
        data_error("E0656 bad-vectors", lines_.name(), lines_.line(), text.data() - line.data() + 1,
                   fmt::format("'{}' is {}", text, why));
      };
      if (number && number->beyond) refuse("outside the range of a double");
      if (!number || !std::isfinite(number->value)) refuse("not a finite number");
      const double value = number->value;
      if (rows_.dtype() == DType::kFloat32 && !std::isfinite(static_cast<float>(value))) {
        refuse("beyond what a parameter holds, float32 up to 3.4e38");
      }
      const std::size_t at = static_cast<std::size_t>(row) * width_ + k;
      if (rows_.dtype() == DType::kFloat32) {
        rows_.data<float>()[at] = static_cast<float>(value);
      } else {
        rows_.data<double>()[at] = value;
      }
    }
  }

  const Vocabulary& vocabulary_;
  Tensor& rows_;
  std::size_t width_;
  LineReader lines_;
  std::vector<Found> found_;
  std::unordered_map<std::string, std::vector<std::int32_t>> lowered_;  // entries by their lowercase forms
  bool begun_ = false;
};

}  // namespace

VectorCoverage read_word_vectors(const VectorFile& file, const Vocabulary& vocabulary, Tensor& rows) {
  return Filler(file, vocabulary, rows).fill();
}

}  // namespace graphrun
