#include "tools/format/expression_style.h"

#include <algorithm>
#include <tuple>

#include "tools/text/utf8.h"

namespace graphrun {
namespace {

using ir::Token;

// How well a line ends at a space; the least is the best.
enum class BreakAt { kComma, kChoice, kLogic, kComparison, kSum, kProduct, kEquals };

struct StyleSpace {
  std::size_t offset;  // in the spaced text
  int depth;           // of brackets
  BreakAt kind;
};

bool one_of(const Token& t, std::initializer_list<std::string_view> texts) {
  return (t.kind == Token::Kind::kSymbol || t.kind == Token::Kind::kName) &&
         std::find(texts.begin(), texts.end(), t.text) != texts.end();
}
bool is_keyword(const Token& t) { return t.kind == Token::Kind::kName && one_of(t, {"if", "else", "and", "or", "not"}); }
// Whether a value may end with the token, so that "-" behind it subtracts and "[" takes a part.
bool ends_value(const Token& t) {
  if (t.kind == Token::Kind::kSymbol) return one_of(t, {")", "]"});
  return t.kind != Token::Kind::kEnd && !is_keyword(t);
}

class Spacer {
 public:
  explicit Spacer(const ir::SourceText& text) : source_(text.text), tokens_(ir::tokens_of(text)) {}

  std::string text() {
    for (std::size_t i = 0; i < tokens_.size() && tokens_[i].kind != Token::Kind::kEnd; ++i) {
      const Token& t = tokens_[i];
      if (one_of(t, {")", "]"}) && open_.size() > 1) open_.pop_back();
      if (i > 0 && space_before(i)) {
        spaces_.push_back({out_.size(), static_cast<int>(open_.size()), kind_of(i)});
        out_ += ' ';
      }
      out_ += source_.substr(t.offset, t.length);
      if (one_of(t, {"(", "["})) open_.push_back(bracket(i));
      sign_ = one_of(t, {"-"}) && (i == 0 || !ends_value(tokens_[i - 1]));
    }
    return std::move(out_);
  }
  const std::vector<StyleSpace>& spaces() const { return spaces_; }

 private:
  enum class Bracket { kNone, kCall, kOther };

  // Arguments of an operator are written axis=-1; those of a graph are bindings, like those of a list.
  Bracket bracket(std::size_t i) const {
    const bool call =
        one_of(tokens_[i], {"("}) && i > 0 && tokens_[i - 1].kind == Token::Kind::kName && !is_keyword(tokens_[i - 1]);
    return call ? Bracket::kCall : Bracket::kOther;
  }

  bool space_before(std::size_t i) const {
    const Token &before = tokens_[i - 1], &t = tokens_[i];
    if (one_of(t, {",", ")", "]", ".", ":"}) || one_of(before, {"(", "[", ".", ":"}) || sign_) return false;
    if (one_of(before, {","})) return true;
    if (one_of(t, {"(", "["}) && ends_value(before)) return false;
    if (one_of(t, {"="}) || one_of(before, {"="})) return open_.back() != Bracket::kCall;
    return true;
  }

  BreakAt kind_of(std::size_t i) const {
    const Token &before = tokens_[i - 1], &t = tokens_[i];
    if (one_of(before, {","})) return BreakAt::kComma;
    if (one_of(t, {"if", "else"})) return BreakAt::kChoice;
    if (one_of(t, {"and", "or"})) return BreakAt::kLogic;
    if (one_of(t, {"==", "!=", "<", ">", "<=", ">="})) return BreakAt::kComparison;
    if (one_of(t, {"+", "-"})) return BreakAt::kSum;
    return one_of(t, {"="}) || one_of(before, {"="}) ? BreakAt::kEquals : BreakAt::kProduct;
  }

  const std::string& source_;
  std::vector<Token> tokens_;
  std::vector<Bracket> open_ = {Bracket::kNone};
  std::string out_;
  std::vector<StyleSpace> spaces_;
  bool sign_ = false;  // the last token is a sign
};

}  // namespace

bool is_expression(TextSyntax kind) {
  return kind == TextSyntax::EXPRESSION || kind == TextSyntax::BINDINGS || kind == TextSyntax::REPORTS ||
         kind == TextSyntax::EQUATION || kind == TextSyntax::SHAPE;
}

void parse_text(const ir::SourceText& text, TextSyntax kind) {
  if (kind == TextSyntax::EXPRESSION) ir::parse_expression(text);
  if (kind == TextSyntax::BINDINGS) ir::parse_bindings(text);
  if (kind == TextSyntax::REPORTS) ir::parse_grouped_bindings(text);
  if (kind == TextSyntax::EQUATION) ir::parse_equation(text);
  if (kind == TextSyntax::SHAPE) ir::parse_shape(text);
}

std::string spaced(const ir::SourceText& text) { return Spacer(text).text(); }

std::vector<std::string> wrapped_expression(const std::string& text, std::size_t width) {
  const ir::SourceText source(text);
  Spacer spacer(source);
  if (spacer.text() != text) return {text};  // more than the lexer reads
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (count_code_points(text.substr(begin)) > width) {
    const StyleSpace* best = nullptr;
    for (const StyleSpace& space : spacer.spaces()) {
      if (space.offset < begin + 1 || count_code_points(text.substr(begin, space.offset + 1 - begin)) > width) continue;
      if (best == nullptr || std::tuple(space.depth, space.kind) <= std::tuple(best->depth, best->kind)) best = &space;
    }
    if (best == nullptr) break;
    parts.push_back(text.substr(begin, best->offset + 1 - begin));
    begin = best->offset + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string> wrapped_words(std::string_view text, std::size_t width) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t line = text.find("\\n");
    const std::string_view paragraph = text.substr(0, line == std::string_view::npos ? text.size() : line + 2);
    std::size_t end = paragraph.size();
    if (count_code_points(paragraph) > width) {
      const std::size_t most = first_code_points(paragraph, width).size();
      std::size_t space = most == 0 ? std::string_view::npos : paragraph.rfind(' ', most - 1);
      if (space == std::string_view::npos) space = paragraph.find(' ');
      if (space != std::string_view::npos) end = space + 1;
    }
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

}  // namespace graphrun
