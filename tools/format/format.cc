#include "tools/format/format.h"

#include <algorithm>
#include <memory>

#include "compiler/frontend/source.h"
#include "graphs/graph.pb.h"
#include "graphs/job.pb.h"
#include "tools/format/expression_style.h"
#include "tools/format/layout.h"
#include "tools/text/utf8.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

constexpr std::size_t kIndent = 2;
// Texts whose lengths differ more are not aligned: names of messages, and fields in them.
constexpr std::size_t kWidestNameGap = 4, kWidestGap = 16;
constexpr int kMostRounds = 20;  // a round may split a line, which changes the columns of its neighbors in the next

std::size_t columns_of(std::string_view text) { return count_code_points(text); }

struct PrintedRow {
  std::string text, comment;
};

class Printer {
 public:
  std::string print(const LayoutMessage& root) {
    lines(root, 0);
    align_comments();
    std::string out;
    for (const PrintedRow& row : rows_) {
      std::string line = row.text;
      while (!line.empty() && line.back() == ' ') line.pop_back();
      out += line + "\n";
    }
    return out;
  }

 private:
  struct Pads {
    std::size_t name = 0;             // the width of the field's name
    std::vector<std::size_t> fields;  // the widths of its message's fields
  };

  std::string& row() { return rows_.back().text; }
  std::size_t column() { return columns_of(row()); }
  void new_row(std::size_t indent) { rows_.push_back({std::string(indent, ' '), ""}); }
  void comment_here(const std::string& comment) { rows_.back().comment = comment; }

  static const LayoutMessage* message_of(const LayoutItem& item) {
    return !item.list && item.verbatim.empty() && item.values.size() == 1 && !item.values[0].message.empty()
               ? &item.values[0].message.front()
               : nullptr;
  }
  // A message on one line whose first field is a single value.
  static bool is_aligned(const LayoutItem& item) {
    const LayoutMessage* const m = message_of(item);
    return m != nullptr && !m->lines && !m->items.empty() && message_of(m->items.front()) == nullptr;
  }
  static bool needs_own_line(const LayoutItem& item) {
    const LayoutMessage* const m = message_of(item);
    return item.name.empty() || !item.verbatim.empty() || (m != nullptr && m->lines);
  }

  // The fields of a message line by line.
  void lines(const LayoutMessage& message, std::size_t indent) {
    const std::vector<std::vector<const LayoutItem*>> all = grouped(message);
    std::vector<Pads> pads(all.size());
    for (std::size_t i = 0; i < all.size();) {
      std::size_t end = i, least = kFormatColumns, most = 0;
      for (; end < all.size() && is_aligned(*all[end][0]) && (end == i || all[end][0]->breaks < 2); ++end) {
        least = std::min(least, all[end][0]->name.size()), most = std::max(most, all[end][0]->name.size());
        if (most - least > kWidestNameGap) break;
      }
      if (end > i) align(all, i, end, pads);
      i = std::max(end, i + 1);
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i][0]->breaks > 1 && i > 0) rows_.push_back({});
      new_row(indent);
      for (std::size_t k = 0; k < all[i].size(); ++k) {
        if (k > 0) {
          const std::string gap(message_of(*all[i][k - 1]) != nullptr ? 3 : 2, ' ');
          if (column() + gap.size() + width(*all[i][k]) > kFormatColumns) {
            new_row(indent);
          } else {
            row() += gap;
          }
        }
        item(*all[i][k], k == 0 ? pads[i] : Pads{});
      }
    }
  }

  // The items of each line.
  static std::vector<std::vector<const LayoutItem*>> grouped(const LayoutMessage& message) {
    std::vector<std::vector<const LayoutItem*>> all;
    for (const LayoutItem& item : message.items) {
      const bool continues = !all.empty() && item.breaks == 0 && !needs_own_line(item) && !needs_own_line(*all.back().back()) &&
                             all.back().back()->comment.empty();
      if (!continues) all.emplace_back();
      all.back().push_back(&item);
    }
    return all;
  }

  // Aligns the messages of neighboring lines: their braces, and then, for fields of the same name, what has the same name
  // there.
  void align(const std::vector<std::vector<const LayoutItem*>>& all, std::size_t begin, std::size_t end,
             std::vector<Pads>& pads) {
    std::size_t widest = 0;
    for (std::size_t i = begin; i < end; ++i) widest = std::max(widest, all[i][0]->name.size());
    for (std::size_t i = begin; i < end; ++i) pads[i].name = widest;
    for (std::size_t i = begin; i < end;) {
      std::size_t to = i;
      std::vector<std::size_t> same;
      while (to < end && all[to][0]->name == all[i][0]->name) same.push_back(to++);
      align_fields(all, same, 0, pads);
      i = to;
    }
  }
  void align_fields(const std::vector<std::vector<const LayoutItem*>>& all, const std::vector<std::size_t>& which,
                    std::size_t k, std::vector<Pads>& pads) {
    const auto items = [&](std::size_t line) -> const std::vector<LayoutItem>& { return message_of(*all[line][0])->items; };
    const auto has = [&](std::size_t line) {
      return items(line).size() > k + 1 && items(line)[k + 1].breaks == 0 && items(line)[k].comment.empty();
    };
    for (std::size_t i = 0; i < which.size();) {
      if (!has(which[i])) {
        ++i;
        continue;
      }
      std::vector<std::size_t> same;
      std::size_t least = kFormatColumns, most = 0;
      for (; i < which.size() && has(which[i]); ++i) {
        const LayoutItem &a = items(which[i])[k], &b = items(which[i])[k + 1];
        const std::size_t wide = width(a);
        if (!same.empty()) {
          const auto& first = items(same.front());
          if (a.name != first[k].name || b.name != first[k + 1].name) break;
          if (std::max(most, wide) - std::min(least, wide) > kWidestGap) break;
        }
        least = std::min(least, wide), most = std::max(most, wide);
        same.push_back(which[i]);
      }
      for (const std::size_t line : same) {
        pads[line].fields.resize(k + 1);
        pads[line].fields[k] = same.size() > 1 ? most : 0;
      }
      if (same.size() > 1) align_fields(all, same, k + 1, pads);
    }
  }

  // The columns of an item on one line.
  static std::size_t width(const LayoutItem& item) {
    Printer other;
    other.endless_ = true;
    other.new_row(0);
    other.item(item, {});
    return columns_of(other.rows_.front().text);
  }

  void item(const LayoutItem& item, const Pads& pads) {
    if (!item.verbatim.empty()) {
      std::string_view rest = item.verbatim;
      for (std::size_t end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        row() += rest.substr(0, end);
        if (!row().empty() && row().back() == '\r') row().pop_back();
        rows_.push_back({});
        rest.remove_prefix(end + 1);
      }
      row() += rest;
    } else if (item.name.empty()) {
      row() += item.comment;
      return;
    } else if (item.list) {
      row() += item.name + ": [";
      list(item);
    } else if (const LayoutMessage* m = message_of(item)) {
      row() += item.name + std::string(pads.name > item.name.size() ? pads.name - item.name.size() : 0, ' ') + " ";
      this->message(*m, pads);
    } else {
      row() += item.name + ": ";
      value(item.values.front());
    }
    if (!item.comment.empty()) comment_here(item.comment);
  }

  void list(const LayoutItem& item) {
    const std::size_t indent = column();
    for (std::size_t k = 0; k < item.values.size(); ++k) {
      if (k > 0) {
        LayoutItem alone;
        alone.name = "x";
        alone.values = {item.values[k]};
        const std::size_t wide = width(alone) - 2;
        row() += ",";
        if (!endless_ && column() + 1 + wide > kFormatColumns) {
          new_row(indent);
        } else {
          row() += " ";
        }
      }
      value(item.values[k]);
    }
    row() += "]";
  }

  void message(const LayoutMessage& message, const Pads& pads) {
    row() += "{";
    if (message.items.empty() && message.open_comment.empty()) {
      row() += "}";
      return;
    }
    if (message.lines) {
      const std::size_t indent = row().find_first_not_of(' ');
      if (!message.open_comment.empty()) comment_here(message.open_comment);
      lines(message, indent + kIndent);
      new_row(indent);
      row() += "}";
      return;
    }
    row() += " ";
    const std::size_t indent = column();
    for (std::size_t k = 0; k < message.items.size(); ++k) {
      const LayoutItem& one = message.items[k];
      if (k > 0) {
        const std::size_t close = k + 1 == message.items.size() ? 2 : 0;
        const bool too_wide = !endless_ && column() + 1 + width(one) + close > kFormatColumns;
        if (one.breaks > 0 || !message.items[k - 1].comment.empty() || too_wide) {
          new_row(indent);
        } else {
          row() += " ";
        }
      }
      const std::size_t begin = column();
      item(one, {});
      const bool ends_row = k + 1 == message.items.size() || message.items[k + 1].breaks > 0;
      if (k < pads.fields.size() && !ends_row && column() < begin + pads.fields[k]) {
        row() += std::string(begin + pads.fields[k] - column(), ' ');
      }
    }
    row() += " }";
  }

  void value(const LayoutValue& value) {
    if (!value.message.empty()) return message(value.message.front(), {});
    if (!value.is_text) {
      row() += value.plain;
      return;
    }
    const std::size_t indent = column();
    const std::size_t room = kFormatColumns - std::min(indent + 2, kFormatColumns - 20);
    bool first = true;
    for (const std::string& literal : endless_ ? value.literals : wrapped_literals(value, room)) {
      if (!first && !endless_) new_row(indent);
      if (!first && endless_) row() += " ";
      first = false;
      row() += literal;
    }
  }

  // Whether the text, without quotes, ends in an escape of digits, \1 or \x4, that `next` would continue if it followed at
  // once.
  static bool ends_in_escape_before(std::string_view text, char next) {
    const auto is_hex = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
    const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\' || ++i == text.size()) continue;
      const bool hex = text[i] == 'x' || text[i] == 'X';
      const std::size_t first = hex ? i + 1 : i, most = hex ? 2 : 3;
      std::size_t end = first;
      while (end < text.size() && end - first < most && (hex ? is_hex(text[end]) : is_octal(text[end]))) ++end;
      if (end == text.size() && end > first && end - first < most && (hex ? is_hex(next) : is_octal(next))) return true;
      i = std::max(i, end == first ? i : end - 1);
    }
    return false;
  }

  // The literals of a text as they are, if each fits or they can't be joined; else split at other places.
  static std::vector<std::string> wrapped_literals(const LayoutValue& value, std::size_t room) {
    std::string all;
    bool fits = true;
    for (const std::string& literal : value.literals) {
      if (literal.front() != '"' || ends_in_escape_before(all, literal[1])) return value.literals;
      all += literal.substr(1, literal.size() - 2);
      fits &= columns_of(literal) <= room + 2;
    }
    if (fits) return value.literals;
    std::vector<std::string> out;
    for (const std::string& part : value.is_expression ? wrapped_expression(all, room) : wrapped_words(all, room)) {
      out.push_back("\"" + part + "\"");
    }
    return out;
  }

  void align_comments() {
    for (std::size_t i = 0; i < rows_.size();) {
      std::size_t end = i, widest = 0;
      while (end < rows_.size() && !rows_[end].comment.empty()) widest = std::max(widest, columns_of(rows_[end++].text));
      for (std::size_t k = i; k < end; ++k) {
        std::string& text = rows_[k].text;
        text += std::string(widest + 2 - columns_of(text), ' ') + rows_[k].comment;
      }
      i = std::max(end, i + 1);
    }
  }

  bool endless_ = false;  // lines have any length, and there is only one
  std::vector<PrintedRow> rows_;
};

std::string format_once(std::string_view text, const std::string* file) {
  const bool job = is_job(text);
  const std::unique_ptr<google::protobuf::Message> message(job ? static_cast<google::protobuf::Message*>(new Job) : new Graph);
  const Places places = parse_source(text, file, message.get());
  return Printer().print(layout_of(text, places, *message->GetDescriptor()));
}

}  // namespace

std::string format_source(std::string_view text, const std::string* file) {
  std::string now = format_once(text, file);
  for (int round = 1; round < kMostRounds; ++round) {
    std::string next = format_once(now, file);
    if (next == now) return now;
    now = std::move(next);
  }
  throw InternalError("format_source: no fixed point");
}

}  // namespace graphrun
