#include "tools/given/given_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/file.h"
#include "runtime/tensor/safetensors.h"
#include "tools/cli/program.h"
#include "tools/json/json.h"
#include "tools/text/text.h"
#include "tools/text/utf8.h"

namespace graphrun {
namespace {

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
constexpr const char* kBadNumbers = "E0655 bad-numbers";
constexpr std::size_t kMostAxes = 16;
constexpr std::size_t kMostShown = 24;  // bytes of a quoted value

[[noreturn]] void bad(const GivenFeed& given, Location at, const std::string& text, const std::string& help = "") {
  const std::string where = given.file.empty() ? "" : fmt::format("'{}': ", given.file);
  Diagnostic d{
      Severity::kError, kBadNumbers, at, fmt::format("--feed {}: {}{}", given.name, at.known() ? "" : where, text), {}};
  if (!help.empty()) d.notes.push_back("help: " + help);
  throw UserError(ExitCode::kBadData, {std::move(d)});
}

std::string shortened(const std::string& text) {
  const std::string_view begin = within_bytes(text, kMostShown);
  return std::string(begin) + (begin.size() < text.size() ? "…" : "");
}

std::string beyond_double(std::string_view number) { return fmt::format("{} is beyond double, which ends at 1.8e308", number); }

std::string shown(const nlohmann::json& value) {
  return shortened(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// "[1, 0]" of the indices so far.
std::string place_of(const std::vector<std::size_t>& place) { return fmt::format("[{}]", fmt::join(place, ", ")); }

// Fills a tensor from nested lists of equal shapes.
class Filling {
 public:
  Filling(const GivenFeed& given, const FeedSpec& spec) : given_(given), spec_(spec) {}

  Tensor tensor(const nlohmann::json& json) {
    for (const nlohmann::json* level = &json; level->is_array(); level = &level->front()) {
      sizes_.push_back(static_cast<std::int64_t>(level->size()));
      if (level->empty()) break;
      if (sizes_.size() > kMostAxes) bad(given_, {}, fmt::format("lists nest deeper than {}", kMostAxes));
    }
    check(json, 0);
    const bool is_float = spec_.dtype == DType::kFloat32 || spec_.dtype == DType::kFloat64;
    Tensor tensor(is_float ? DType::kFloat64 : spec_.dtype, sizes_);
    fill(json, 0, tensor);
    return spec_.dtype == DType::kFloat32 ? tensor.converted(DType::kFloat32) : tensor;
  }

 private:
  // Checks the shape before allocating memory, because the first rows do not determine the number of elements.
  void check(const nlohmann::json& json, std::size_t depth) {
    if (depth == sizes_.size()) return;
    if (!json.is_array()) {
      bad(given_, {}, fmt::format("found {} at {}, where other rows have a list", shown(json), place_of(place_)));
    }
    if (static_cast<std::int64_t>(json.size()) != sizes_[depth]) {
      bad(given_, {},
          fmt::format("{} has {}, the first one at its depth {}", place_of(place_),
                      counted(static_cast<std::int64_t>(json.size()), "element"), sizes_[depth]),
          "all rows of a tensor have equally many numbers; give padding as numbers too, and feed the lengths");
    }
    each(json, [&](const nlohmann::json& part) { check(part, depth + 1); });
  }

  void fill(const nlohmann::json& json, std::size_t depth, Tensor& tensor) {
    if (depth < sizes_.size()) return each(json, [&](const nlohmann::json& part) { fill(part, depth + 1, tensor); });
    element(json, tensor);
    ++next_;
  }

  template <class Visit>
  void each(const nlohmann::json& list, const Visit& visit) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      place_.push_back(i);
      visit(list[i]);
      place_.pop_back();
    }
  }

  void element(const nlohmann::json& json, Tensor& tensor) {
    const auto refuse = [&](const char* expected) {
      bad(given_, {}, fmt::format("{} at {} is not {}", shown(json), place_of(place_), expected));
    };
    switch (tensor.dtype()) {
      case DType::kBool: {
        const bool is_number = json.is_number() && (json == 0 || json == 1);
        if (!json.is_boolean() && !is_number) refuse("true, false, 0 or 1, which a BOOL is");
        tensor.data<std::uint8_t>()[next_] = json.is_boolean() ? json.get<bool>() : json == 1;
        return;
      }
      case DType::kInt32: {
        const double value = json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
        using Limits = std::numeric_limits<std::int32_t>;
        if (!(value == std::floor(value) && value >= Limits::min() && value <= Limits::max()))
          refuse("a whole number of 32 bits, which an INT32 is");
        tensor.data<std::int32_t>()[next_] = static_cast<std::int32_t>(value);
        return;
      }
      default: {
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        double value = std::numeric_limits<double>::quiet_NaN();
        if (json.is_number()) {
          value = json.get<double>();
          if (spec_.dtype == DType::kFloat32 && !std::isfinite(static_cast<float>(value)))
            refuse("a number of float32, which ends at 3.4e38");
        } else if (json == "inf" || json == "-inf") {
          value = json == "inf" ? kInfinity : -kInfinity;
        } else if (!json.is_null()) {
          refuse("a number");
        }
        tensor.data<double>()[next_] = value;
      }
    }
  }

  const GivenFeed& given_;
  const FeedSpec& spec_;
  Sizes sizes_;
  std::vector<std::size_t> place_;
  std::int64_t next_ = 0;
};

nlohmann::json parse_json(const GivenFeed& given, const std::string& text) {
  const auto place = [&](std::size_t at) {
    Location where;
    if (given.file.empty()) return where;
    where.file = intern_file(given.file);
    where.line = 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    const std::size_t line = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
    where.column = static_cast<int>(line == std::string::npos ? at + 1 : at - line);
    return where;
  };
  try {
    return parse_json_within(text);
  } catch (const JsonTooDeep& error) {
    bad(given, {}, fmt::format("the JSON is {}", error.what()), fmt::format("a tensor has at most {} axes", kMostAxes));
  } catch (const nlohmann::json::out_of_range& error) {  // "… parsing '1e400'"
    const std::size_t at = std::min(find_number(text, error.what()), text.size());
    const std::string number = text.substr(at, std::min(text.find_first_not_of("0123456789+-.eE", at), text.size()) - at);
    bad(given, place(at), beyond_double(number));
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const Location where = place(at);
    const std::string found = at >= text.size() ? "the end" : fmt::format("'{}'", text.substr(at, 1));
    bad(given, where,
        fmt::format("found {}{}; expected numbers as JSON", found,
                    given.file.empty() ? fmt::format(" at character {} of '{}'", at + 1, shortened(text)) : ""),
        "a matrix is [[1, 2], [3, 4]], a scalar 0.5; @FILE reads a file");
  }
}

// The requested member of an object; any other value unchanged.
nlohmann::json member_of(const GivenFeed& given, nlohmann::json json) {
  if (!json.is_object()) {
    if (!given.member.empty()) bad(given, {}, fmt::format("the file holds no object, so there is no '{}' in it", given.member));
    return json;
  }
  const std::string name = given.member.empty() ? given.name : given.member;
  if (json.contains(name)) return json[name];
  std::vector<std::string> names;
  for (const auto& [key, value] : json.items()) names.push_back(key);
  bad(given, {}, fmt::format("the object has no '{}'", name), fmt::format("it has: {}", fmt::join(names, ", ")));
}

// Parses rows of numbers, with blank lines between matrices, into nested lists of the given rank.
nlohmann::json parse_rows(const GivenFeed& given, std::string_view text, std::size_t rank) {
  nlohmann::json matrices = nlohmann::json::array({nlohmann::json::array()});
  int line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view row(text.data() + begin, end - begin);
    nlohmann::json numbers = nlohmann::json::array();
    for (std::size_t at = 0; at < row.size();) {
      const std::size_t from = row.find_first_not_of(" \t\r", at);
      if (from == std::string_view::npos) break;
      at = std::min(row.find_first_of(" \t\r", from), row.size());
      const std::string_view word = row.substr(from, at - from);
      const Location where{intern_file(given.file), line, static_cast<int>(from) + 1};
      const std::optional<ParsedNumber> number = parse_number(word);
      if (!number) {
        bad(given, where, fmt::format("'{}' is not a number", word),
            "text is a row of numbers a line, blank lines between matrices; a file of JSON ends in .json");
      }
      if (number->beyond) bad(given, where, beyond_double(word));
      numbers.push_back(nlohmann::json(number_json(number->value)));
    }
    if (!numbers.empty()) {
      matrices.back().push_back(std::move(numbers));
    } else if (!matrices.back().empty()) {
      matrices.push_back(nlohmann::json::array());
    }
    begin = end + 1;
  }
  if (matrices.back().empty() && matrices.size() > 1) matrices.erase(matrices.size() - 1);
  if (rank >= 3 || matrices.size() > 1) return matrices;
  nlohmann::json rows = std::move(matrices[0]);
  if (rank == 2) return rows;
  if (rows.size() == 1) {
    nlohmann::json row = std::move(rows[0]);
    return rank == 0 && row.size() == 1 ? nlohmann::json(row[0]) : row;
  }
  // A column of numbers.
  nlohmann::json column = nlohmann::json::array();
  for (const nlohmann::json& row : rows) {
    if (row.size() != 1) return rows;
    column.push_back(row[0]);
  }
  return column;
}

Tensor read_tensor(const GivenFeed& given) {
  NamedTensors tensors = read_safetensors(given.file);
  std::string name = given.member.empty() ? given.name : given.member;
  if (given.member.empty() && tensors.size() == 1) name = tensors.begin()->first;
  if (const auto found = tensors.find(name); found != tensors.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [key, tensor] : tensors) names.push_back(key);
  bad(given, {}, fmt::format("the file has no tensor '{}'", name),
      fmt::format("--feed {}=@{}:NAME takes one of: {}", given.name, given.file, fmt::join(names, ", ")));
}

template <class T>
void append_number(std::string& out, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      out += "null";
    } else if (std::isinf(value)) {
      out += value > 0 ? "\"inf\"" : "\"-inf\"";
    } else {
      fmt::format_to(std::back_inserter(out), "{}", value);
    }
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

void append_json(const Tensor& tensor, std::size_t axis, std::int64_t& next, std::string& out) {
  if (axis == tensor.sizes().size()) {
    switch (tensor.dtype()) {
      case DType::kFloat32: append_number(out, tensor.data<float>()[next]); break;
      case DType::kFloat64: append_number(out, tensor.data<double>()[next]); break;
      case DType::kInt32: append_number(out, tensor.data<std::int32_t>()[next]); break;
      case DType::kBool: out += tensor.data<std::uint8_t>()[next] != 0 ? "true" : "false"; break;
    }
    ++next;
    return;
  }
  out += "[";
  for (std::int64_t i = 0; i < tensor.sizes()[axis]; ++i) {
    if (i > 0) out += ", ";
    append_json(tensor, axis + 1, next, out);
  }
  out += "]";
}

}  // namespace

GivenFeed parse_given_feed(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw UsageError(fmt::format("--feed takes NAME=NUMBERS, \"x=[[1, 2], [3, 4]]\", or NAME=@FILE, found '{}'", text));
  GivenFeed given;
  given.name = text.substr(0, equals);
  if (text[equals + 1] != '@') {
    given.text = text.substr(equals + 1);
    return given;
  }
  given.file = text.substr(equals + 2);
  // The member follows the last colon after a file extension, since paths may contain colons too.
  for (const char* ending : {".safetensors:", ".json:"}) {
    const std::size_t at = given.file.rfind(ending);
    if (at == std::string::npos) continue;
    const std::size_t colon = at + std::string_view(ending).size() - 1;
    given.member = given.file.substr(colon + 1);
    given.file.resize(colon);
    break;
  }
  if (given.file.empty()) throw UsageError(fmt::format("--feed {}=@ names no file", given.name));
  return given;
}

Tensor read_given_feed(const GivenFeed& given, const FeedSpec& spec) {
  if (given.file.ends_with(".safetensors")) return read_tensor(given);
  if (given.file.empty()) return Filling(given, spec).tensor(parse_json(given, given.text));
  const std::string text = read_file(given.file, kLargestFile);
  if (given.file.ends_with(".json")) return Filling(given, spec).tensor(member_of(given, parse_json(given, text)));
  return Filling(given, spec).tensor(parse_rows(given, without_byte_order_mark(text), spec.shape.size()));
}

std::string tensor_json(const Tensor& tensor) {
  std::string out;
  std::int64_t next = 0;
  append_json(tensor, 0, next, out);
  return out;
}

}  // namespace graphrun
