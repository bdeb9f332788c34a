#include "compiler/ir/expression.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>

#include "compiler/ir/foreign_names.h"

namespace graphrun::ir {
namespace {

constexpr int kDeepest = 200;  // nesting of parentheses and the like: deeper than any formula, and safe for the stack

class ExpressionParser {
 public:
  explicit ExpressionParser(const SourceText& source) : source_(source), tokens_(tokens_of(source)) {
    if (tokens_.size() > kLongestExpression) {
      fail_in(source, tokens_[kLongestExpression].offset, 1, "E0106 too-deep",
              "the expression has more than " + std::to_string(kLongestExpression) + " parts",
              {"help: give parts of it names of their own"});
    }
  }

  Expression whole_expression() {
    Expression e = expression();
    end();
    return e;
  }

  std::vector<Binding> bindings(bool grouped = false) {
    std::vector<Binding> out;
    if (at_end())
      fail_in(source_, 0, std::max<std::size_t>(1, source_.text.size()), "E0104 empty", "an empty list of bindings");
    while (true) {
      out.push_back(binding());
      const bool by = grouped && peek().kind == Token::Kind::kName && peek().text == "by";
      if (by) ++i_, out.back().by = expression();
      if (!take(",")) break;
    }
    end();
    return out;
  }

  Equation equation() {
    Equation out;
    do {
      Equation::Target target;
      const Token& t = need_name("the name of the equation's result");
      target.name = t.text;
      target.at = at(t);
      if (take("[")) {
        target.sized = true;
        target.sizes = list("]");
      }
      out.targets.push_back(std::move(target));
    } while (take(","));
    if (!take("=")) {
      unexpected("'=': an equation is `name = expression`");
    }
    out.value = expression();
    end();
    return out;
  }

  std::vector<Expression> shape() {
    if (!take("[")) unexpected("a shape such as [time, batch, hidden]");
    std::vector<Expression> out = list("]");
    end();
    return out;
  }

 private:
  const Token& peek(std::size_t ahead = 0) const { return tokens_[std::min(i_ + ahead, tokens_.size() - 1)]; }
  bool at_end() const { return peek().kind == Token::Kind::kEnd; }
  bool is(const Token& t, std::string_view text) const {
    return (t.kind == Token::Kind::kSymbol || t.kind == Token::Kind::kName) && t.text == text;
  }
  bool take(std::string_view text) {
    if (!is(peek(), text)) return false;
    ++i_;
    return true;
  }
  Location at(const Token& t) const { return source_.at(t.offset, std::max<std::size_t>(1, t.length)); }

  [[noreturn]] void unexpected(const std::string& wanted) const {
    const Token& t = peek();
    const std::string found = t.kind == Token::Kind::kEnd ? "the end" : "'" + source_.text.substr(t.offset, t.length) + "'";
    fail_in(source_, t.offset, std::max<std::size_t>(1, t.length), "E0105 syntax", "found " + found + ", expected " + wanted,
            hint());
  }
  // Suggestions for what the current token may have meant.
  std::vector<std::string> hint() const {
    const Token& t = peek();
    const auto before = [&](std::size_t back) { return i_ >= back ? tokens_[i_ - back] : Token{}; };
    const bool after_number = before(1).kind == Token::Kind::kNumber;
    if (is(t, "(") && before(1).kind == Token::Kind::kName && is(before(2), ".")) {
      const std::string here = here_op_is(before(1).text);
      return {"help: values have no methods: " +
              (here.empty() ? "an op is called by its name, " + before(1).text + "(x, …)" : here)};
    }
    if (is(t, ".") && peek(1).kind == Token::Kind::kNumber) return {"help: write 0." + peek(1).text};
    if (is(t, ".") && after_number) return {"help: write " + before(1).text + ".0"};
    if (is(t, ":") && is(before(1), ":")) return {"help: a slice has no step; gather(x, indices) takes any positions"};
    if (is(t, "=")) return {"help: == compares"};
    return {};
  }
  void need(std::string_view symbol) {
    if (!take(symbol)) unexpected("'" + std::string(symbol) + "'");
  }
  const Token& need_name(const std::string& what) {
    if (peek().kind != Token::Kind::kName) unexpected(what);
    return tokens_[i_++];
  }
  void end() const {
    if (!at_end()) unexpected("an operator, or the end of the expression");
  }

  Binding binding() {
    Binding b;
    const Token first = peek();
    // name[.name]* = …
    if (first.kind == Token::Kind::kName) {
      std::size_t k = 1;
      std::string name = first.text;
      while (is(peek(k), ".") && (peek(k + 1).kind == Token::Kind::kName || peek(k + 1).kind == Token::Kind::kNumber)) {
        name += "." + peek(k + 1).text;
        k += 2;
      }
      if (is(peek(k), "=")) {
        b.name = name;
        b.named = true;
        b.at = source_.at(first.offset, peek(k - 1).offset + peek(k - 1).length - first.offset);
        i_ += k + 1;
      }
    }
    b.value = expression();
    if (!b.named) {
      b.at = b.value.at;
      if (b.value.kind == Expression::Kind::kName) b.name = b.value.path.back();
    }
    return b;
  }

  struct Deeper {
    explicit Deeper(ExpressionParser& p) : p(p) {
      if (++p.depth_ > kDeepest) {
        const Token& t = p.peek();
        fail_in(p.source_, t.offset, 1, "E0106 too-deep",
                "the expression nests more than " + std::to_string(kDeepest) + " levels deep");
      }
    }
    ~Deeper() { --p.depth_; }
    ExpressionParser& p;
  };

  Expression call(std::string op, const Location& where, std::vector<Expression> operands) {
    Expression e;
    e.kind = Expression::Kind::kCall;
    e.text = std::move(op);
    e.at = where;
    e.infix = true;
    e.operands = std::move(operands);
    return e;
  }

  // value if condition else expression
  Expression expression() {
    Deeper deeper(*this);
    Expression value = either();
    if (!is(peek(), "if")) return value;
    const Location where = at(peek());
    ++i_;
    Expression condition = either();
    if (!take("else")) unexpected("'else': a choice is `a if condition else b`");
    Expression e;
    e.kind = Expression::Kind::kChoice;
    e.at = where;
    e.operands.push_back(std::move(condition));
    e.operands.push_back(std::move(value));
    e.operands.push_back(expression());
    return e;
  }

  struct Infix {
    std::string_view symbol, op;
  };
  template <class Sub, std::size_t N>
  Expression left(const Infix (&operators)[N], Sub sub) {
    Expression a = (this->*sub)();
    while (true) {
      const Infix* found = nullptr;
      for (const Infix& o : operators) {
        if (is(peek(), o.symbol)) found = &o;
      }
      if (!found) return a;
      const Location where = at(peek());
      ++i_;
      std::vector<Expression> operands;
      operands.push_back(std::move(a));
      operands.push_back((this->*sub)());
      a = call(std::string(found->op), where, std::move(operands));
    }
  }
  Expression either() {
    static constexpr Infix k[] = {{"or", "or"}};
    return left(k, &ExpressionParser::both);
  }
  Expression both() {
    static constexpr Infix k[] = {{"and", "and"}};
    return left(k, &ExpressionParser::inverse);
  }
  Expression inverse() {
    if (!is(peek(), "not")) return compare();
    Deeper deeper(*this);
    const Location where = at(peek());
    ++i_;
    std::vector<Expression> operands;
    operands.push_back(inverse());
    return call("not", where, std::move(operands));
  }
  Expression compare() {
    static constexpr Infix k[] = {{"==", "eq"}, {"!=", "ne"}, {"<", "lt"}, {"<=", "le"}, {">", "gt"}, {">=", "ge"}};
    return left(k, &ExpressionParser::sum);
  }
  Expression sum() {
    static constexpr Infix k[] = {{"+", "add"}, {"-", "sub"}};
    return left(k, &ExpressionParser::term);
  }
  Expression term() {
    static constexpr Infix k[] = {{"*", "mul"}, {"/", "div"}, {"@", "matmul"}};
    return left(k, &ExpressionParser::unary);
  }
  Expression unary() {
    if (!is(peek(), "-")) return power();
    Deeper deeper(*this);
    const Location where = at(peek());
    ++i_;
    Expression e = unary();
    if (e.kind == Expression::Kind::kNumber) {
      e.number = -e.number;
      e.at = where;
      return e;
    }
    std::vector<Expression> operands;
    operands.push_back(std::move(e));
    return call("neg", where, std::move(operands));
  }

  // As in Python: -a ** b is -(a ** b), a ** -b needs no parentheses, a ** b ** c is a ** (b ** c).
  Expression power() {
    Expression base = postfix();
    if (!is(peek(), "**")) return base;
    Deeper deeper(*this);
    const Location where = at(peek());
    ++i_;
    std::vector<Expression> operands;
    operands.push_back(std::move(base));
    operands.push_back(unary());
    return call("pow", where, std::move(operands));
  }

  Expression postfix() {
    Expression a = atom();
    while (is(peek(), "[")) {
      Expression e;
      e.kind = Expression::Kind::kIndex;
      e.at = at(peek());
      ++i_;
      do {
        Subscript s;
        if (!is(peek(), ":")) s.begin = expression();
        if (take(":")) {
          s.slice = true;
          if (!is(peek(), ",") && !is(peek(), "]")) s.end = expression();
        }
        e.subscripts.push_back(std::move(s));
      } while (take(","));
      need("]");
      e.operands.push_back(std::move(a));
      a = std::move(e);
    }
    return a;
  }

  std::vector<Expression> list(std::string_view close) {
    std::vector<Expression> out;
    if (take(close)) return out;
    do out.push_back(expression());
    while (take(","));
    need(close);
    return out;
  }

  void arguments(Expression& e) {
    if (take(")")) return;
    do {
      if (peek().kind == Token::Kind::kName && is(peek(1), "=")) {
        std::string name = peek().text;
        const Location where = at(peek());
        i_ += 2;
        e.keywords.push_back({std::move(name), expression(), where});
      } else {
        if (!e.keywords.empty()) unexpected("`name = value`: arguments by position come before those by name");
        e.operands.push_back(expression());
      }
    } while (take(","));
    need(")");
  }

  Expression atom() {
    const Token t = peek();
    Expression e;
    e.at = at(t);
    switch (t.kind) {
      case Token::Kind::kNumber:
        ++i_;
        e.kind = Expression::Kind::kNumber;
        e.number = t.number;
        e.integral = t.integral;
        return e;
      case Token::Kind::kWord:
        ++i_;
        e.kind = Expression::Kind::kWord;
        e.text = t.text;
        return e;
      case Token::Kind::kGraph:
        ++i_;
        e.kind = Expression::Kind::kGraph;
        e.text = t.text;
        if (take("(")) arguments(e);
        return e;
      case Token::Kind::kSymbol:
        if (take("(")) {
          Expression inner = expression();
          need(")");
          return inner;
        }
        if (take("[")) {
          e.kind = Expression::Kind::kList;
          e.operands = list("]");
          return e;
        }
        unexpected("a value");
      case Token::Kind::kEnd: unexpected("a value");
      case Token::Kind::kName: break;
    }
    static constexpr std::string_view kReserved[] = {"if", "else", "and", "or"};
    for (std::string_view r : kReserved) {
      if (t.text == r) unexpected("a value");
    }
    ++i_;
    if (t.text == "true" || t.text == "false") {
      e.kind = Expression::Kind::kBool;
      e.number = t.text == "true";
      return e;
    }
    if (take("(")) {
      e.kind = Expression::Kind::kCall;
      e.text = t.text;
      arguments(e);
      return e;
    }
    e.kind = Expression::Kind::kName;
    e.path.push_back(t.text);
    while (is(peek(), ".")) {
      ++i_;
      if (peek().kind != Token::Kind::kName && peek().kind != Token::Kind::kNumber) unexpected("a name after the dot");
      e.path.push_back(peek().text);
      e.at.length = static_cast<int>(peek().offset + peek().length - t.offset);
      ++i_;
    }
    return e;
  }

  const SourceText& source_;
  std::vector<Token> tokens_;
  std::size_t i_ = 0;
  int depth_ = 0;
};

}  // namespace

std::string Expression::dotted() const {
  std::string out;
  for (const std::string& p : path) out += (out.empty() ? "" : ".") + p;
  return out;
}

Expression parse_expression(const SourceText& text) { return ExpressionParser(text).whole_expression(); }
std::vector<Binding> parse_bindings(const SourceText& text) { return ExpressionParser(text).bindings(); }
std::vector<Binding> parse_grouped_bindings(const SourceText& text) { return ExpressionParser(text).bindings(true); }
Equation parse_equation(const SourceText& text) { return ExpressionParser(text).equation(); }
std::vector<Expression> parse_shape(const SourceText& text) { return ExpressionParser(text).shape(); }

}  // namespace graphrun::ir
