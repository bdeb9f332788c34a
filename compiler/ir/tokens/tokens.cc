#include "compiler/ir/tokens/tokens.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

namespace graphrun::ir {
namespace {

bool word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

constexpr double kLargestWhole = 9e15;  // every integer up to this is exact in a double

class Lexer {
 public:
  explicit Lexer(const SourceText& source) : source_(source), s_(source.text) {}

  // Reads at most one token more than allowed, which is enough to report that there are too many.
  std::vector<Token> all() {
    std::vector<Token> tokens;
    while (tokens.size() <= kLongestExpression) {
      while (i_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[i_]))) ++i_;
      Token t = next();
      tokens.push_back(t);
      if (t.kind == Token::Kind::kEnd) break;
    }
    return tokens;
  }

 private:
  // The longest text at this position that could be the path of a graph. Its end is searched for only once.
  std::string_view run() {
    if (run_end_ <= i_) run_end_ = i_;
    while (run_end_ < s_.size() && path_part(s_[run_end_])) ++run_end_;
    return std::string_view(s_).substr(i_, run_end_ - i_);
  }
  static bool path_part(char c) { return word_part(c) || c == '/' || c == '.' || c == '-'; }

  Token next() {
    const std::size_t begin = i_;
    Token t;
    t.offset = begin;
    if (i_ >= s_.size()) return t;
    const char c = s_[i_];
    if (std::isdigit(static_cast<unsigned char>(c))) {
      number(t);
    } else if (c == '\'') {
      quoted(t);
    } else if (word_start(c)) {
      name(t);
    } else {
      symbol(t);
    }
    t.length = i_ - begin;
    return t;
  }

  void number(Token& t) {
    t.kind = Token::Kind::kNumber;
    t.integral = true;
    const std::size_t begin = i_;
    const auto digits = [&] {
      while (i_ < s_.size() && std::isdigit(static_cast<unsigned char>(s_[i_]))) ++i_;
    };
    digits();
    if (i_ + 1 < s_.size() && s_[i_] == '.' && std::isdigit(static_cast<unsigned char>(s_[i_ + 1]))) {
      t.integral = false;
      ++i_;
      digits();
    }
    if (i_ < s_.size() && (s_[i_] == 'e' || s_[i_] == 'E')) {
      std::size_t j = i_ + 1;
      if (j < s_.size() && (s_[j] == '+' || s_[j] == '-')) ++j;
      if (j < s_.size() && std::isdigit(static_cast<unsigned char>(s_[j]))) {
        t.integral = false;
        i_ = j;
        digits();
      }
    }
    t.text = s_.substr(begin, i_ - begin);
    const auto [end, error] = std::from_chars(s_.data() + begin, s_.data() + i_, t.number);
    if (error != std::errc() || end != s_.data() + i_ || (t.integral && t.number > kLargestWhole)) {
      fail_in(source_, begin, i_ - begin, "E0103 bad-number",
              "'" + t.text +
                  "' is too large: " + (t.integral ? "whole numbers go up to 9 * 10^15" : "numbers go up to 1.8 * 10^308"));
    }
    if (i_ < s_.size() && word_start(s_[i_])) {
      fail_in(source_, begin, i_ - begin + 1, "E0103 bad-number",
              "a number runs into a name: '" + s_.substr(begin, i_ - begin + 1) + "'",
              {"help: names begin with a letter; put an operator between a number and a name"});
    }
  }

  void quoted(Token& t) {
    t.kind = Token::Kind::kWord;
    const std::size_t begin = i_++;
    const std::size_t end = s_.find('\'', i_);
    if (end == std::string::npos) fail_in(source_, begin, 1, "E0102 unclosed", "this ' opens a string that nothing closes");
    t.text = s_.substr(i_, end - i_);
    i_ = end + 1;
  }

  // Reads a name, or the path of a graph (cells/atr.pbtxt), as one token.
  void name(Token& t) {
    constexpr std::string_view kEnding = ".pbtxt";
    const std::string_view path = run();
    if (path.ends_with(kEnding) && path.find(kEnding) + kEnding.size() == path.size()) {
      t.kind = Token::Kind::kGraph;
      t.text = path;
      i_ += path.size();
      return;
    }
    t.kind = Token::Kind::kName;
    while (i_ < s_.size() && word_part(s_[i_])) t.text += s_[i_++];
  }

  void symbol(Token& t) {
    t.kind = Token::Kind::kSymbol;
    static constexpr std::string_view kTwo[] = {"==", "!=", "<=", ">=", "**"};
    for (std::string_view two : kTwo) {
      if (s_.compare(i_, 2, two) == 0) {
        t.text = two;
        i_ += 2;
        return;
      }
    }
    // Operators of several characters from other languages.
    static constexpr std::pair<std::string_view, std::string_view> kForeign[] = {
        {"//", "a division that is rounded down is floor(x / n)"},
        {"...", "write ':' for each axis before it: x[:, :, 0]"},
        {":=", "an equation is `name = expression`"},
        {"+=", "a value never changes: give the result a name of its own"},
        {"*=", "a value never changes: give the result a name of its own"},
        {"-=", "a value never changes: give the result a name of its own"},
    };
    for (const auto& [foreign, help] : kForeign) {
      if (s_.compare(i_, foreign.size(), foreign) != 0) continue;
      fail_in(source_, i_, foreign.size(), "E0101 unexpected-character",
              "'" + std::string(foreign) + "' has no meaning in an expression", {"help: " + std::string(help)});
    }
    const char c = s_[i_];
    if (std::string_view("+-*/@<>=()[],:.").find(c) == std::string_view::npos) {
      // A path of a graph may begin with "../" on the command line, or with a slash.
      std::size_t n = 1;
      while (i_ + n < s_.size() && (static_cast<unsigned char>(s_[i_ + n]) & 0xC0) == 0x80) ++n;
      fail_in(source_, i_, n, "E0101 unexpected-character", "'" + s_.substr(i_, n) + "' has no meaning in an expression",
              c == '^'   ? std::vector<std::string>{"help: a power is x ** n"}
              : c == '%' ? std::vector<std::string>{"help: the remainder is x - n * floor(x / n)"}
              : c == '?'
                  ? std::vector<std::string>{"help: a choice is `a if condition else b`, at run time where(condition, a, b)"}
              : c == '~' || c == '!' || c == '&' || c == '|'
                  ? std::vector<std::string>{"help: the operators are + - * / ** @ == != < <= > >= and or not"}
                  : std::vector<std::string>{});
    }
    const bool begins = i_ == 0 || std::isspace(static_cast<unsigned char>(s_[i_ - 1])) || s_[i_ - 1] == '=';
    if ((c == '.' || c == '/') && begins && run().ends_with(".pbtxt")) {
      t.kind = Token::Kind::kGraph;
      t.text = run();
      i_ += t.text.size();
      return;
    }
    t.text = c;
    ++i_;
  }

  const SourceText& source_;
  const std::string& s_;
  std::size_t i_ = 0, run_end_ = 0;
};

}  // namespace

void fail_in(const SourceText& source, std::size_t offset, std::size_t length, std::string code, std::string text,
             std::vector<std::string> notes) {
  throw UserError(ExitCode::kInvalidGraph,
                  {{Severity::kError, std::move(code), source.at(offset, length), std::move(text), std::move(notes)}});
}

Location SourceText::at(std::size_t offset, std::size_t length) const {
  Location l;
  if (file == nullptr || pieces.empty()) return l;
  // The last piece that starts at or before the offset; the first piece if there is none.
  const auto behind = std::upper_bound(pieces.begin() + 1, pieces.end(), offset,
                                       [](std::size_t o, const Piece& piece) { return o < piece.offset; });
  const Piece& piece = *(behind - 1);
  l.file = file;
  l.line = piece.line;
  l.column = piece.column + static_cast<int>(offset - piece.offset);
  l.length = static_cast<int>(length);
  l.via = via;
  return l;
}

SourceText SourceText::part(std::size_t begin, std::size_t end) const {
  SourceText out(text.substr(begin, end - begin));
  out.file = file;
  out.via = via;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const std::size_t next = k + 1 < pieces.size() ? pieces[k + 1].offset : text.size() + 1;
    if (next <= begin || pieces[k].offset >= std::max(end, begin + 1)) continue;
    const std::size_t from = std::max(begin, pieces[k].offset);
    out.pieces.push_back({from - begin, pieces[k].line, pieces[k].column + static_cast<int>(from - pieces[k].offset)});
  }
  return out;
}

std::vector<Token> tokens_of(const SourceText& text) { return Lexer(text).all(); }

}  // namespace graphrun::ir
