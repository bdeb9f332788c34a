#include "runtime/base/shape.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

// Limits that no sensible graph reaches: a hostile graph must not build sizes that take minutes to multiply.
constexpr std::size_t kMostTerms = 1024;
constexpr std::size_t kMostFactors = 32;

[[noreturn]] void bad_size(const std::string& text) { throw UserError(ExitCode::kBadData, "E0602 bad-size", text); }

std::int64_t checked_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum))
    bad_size("a size does not fit 63 bits: " + std::to_string(a) + " + " + std::to_string(b));
  return sum;
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) {
    bad_size("a size does not fit 63 bits: " + std::to_string(a) + " * " + std::to_string(b));
  }
  return product;
}

// Names live in a deque, which never moves them, so references stay valid after the lock is released.
struct SymbolTable {
  std::shared_mutex mutex;
  std::deque<std::string> names;
  std::unordered_map<std::string_view, std::int32_t> ids;
};

SymbolTable& symbol_table() {
  static SymbolTable* const table = new SymbolTable;  // never destroyed: static objects may hold symbols
  return *table;
}

using Monomial = std::vector<Symbol>;
using Terms = std::vector<std::pair<Monomial, std::int64_t>>;

// Graded order: a monomial with more factors is larger; ties are broken by the first factor that differs. Multiplication
// preserves this order, which exact division relies on.
bool graded_less(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  // The factors are sorted: where two monomials differ, the one with more of the first symbol has the smaller id.
  return std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end());
}

struct GradedLess {
  bool operator()(const Monomial& a, const Monomial& b) const { return graded_less(a, b); }
};
// The terms of a polynomial under construction; the constant is the empty monomial.
using TermMap = std::map<Monomial, std::int64_t, GradedLess>;

void add_term(TermMap& terms, const Monomial& monomial, std::int64_t coefficient) {
  auto [it, fresh] = terms.emplace(monomial, coefficient);
  if (!fresh) it->second = checked_add(it->second, coefficient);
  if (it->second == 0) terms.erase(it);
  if (terms.size() > kMostTerms) bad_size("a size is a polynomial of more than " + std::to_string(kMostTerms) + " terms");
}

Monomial product(const Monomial& a, const Monomial& b) {
  if (a.size() + b.size() > kMostFactors) {
    bad_size("a size multiplies more than " + std::to_string(kMostFactors) + " unknown sizes");
  }
  Monomial result;
  result.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

// a / b, if all factors of b occur in a.
std::optional<Monomial> quotient(const Monomial& a, const Monomial& b) {
  if (!std::includes(a.begin(), a.end(), b.begin(), b.end())) return std::nullopt;
  Monomial result;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(result));
  return result;
}

TermMap to_map(std::int64_t constant, const Terms& terms) {
  TermMap map(terms.begin(), terms.end());
  if (constant != 0) map.emplace(Monomial{}, constant);
  return map;
}

void from_map(const TermMap& map, std::int64_t& constant, Terms& terms) {
  constant = 0;
  terms.clear();
  for (const auto& [monomial, coefficient] : map) {
    if (monomial.empty()) {
      constant = coefficient;
    } else {
      terms.emplace_back(monomial, coefficient);
    }
  }
}

bool by_name(Symbol a, Symbol b) { return a.name() < b.name(); }

std::string joined(const Monomial& monomial) {
  std::string text;
  for (Symbol symbol : monomial) text += (text.empty() ? "" : "*") + symbol.name();
  return text;
}

bool is_name_start(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || byte >= 0x80;
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '.' || c == '@' || c == '#' || c == ':'; }

// sum := ["-"] product {("+" | "-") product}; product := factor {"*" factor}; factor := number | name.
class DimParser {
 public:
  explicit DimParser(std::string_view text) : text_(text) {}

  std::optional<Dim> parse() {
    Dim sum = 0;
    bool negative = accept('-');
    for (;;) {
      const std::optional<Dim> term = parse_product(negative);
      if (!term) return std::nullopt;
      sum = sum + *term;
      skip_space();
      if (at_ == text_.size()) return sum;
      if (accept('+')) {
        negative = false;
      } else if (accept('-')) {
        negative = true;
      } else {
        return std::nullopt;
      }
    }
  }

 private:
  // The sign is applied first, so that the smallest integer can be parsed back.
  std::optional<Dim> parse_product(bool negative) {
    Dim product = negative ? -1 : 1;
    do {
      const std::optional<Dim> factor = parse_factor(product.is(-1));
      if (!factor) return std::nullopt;
      product = product.is(-1) && factor->is_constant() && factor->constant() < 0 ? *factor : product * *factor;
    } while (accept('*'));
    return product;
  }

  // Negates a number if `negated`; returns a name unchanged.
  std::optional<Dim> parse_factor(bool negated) {
    skip_space();
    const std::size_t begin = at_;
    if (at_ < text_.size() && is_name_start(text_[at_])) {
      while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
      return Dim(Symbol::named(text_.substr(begin, at_ - begin)));
    }
    std::int64_t number = 0;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_) {
      const int digit = text_[at_] - '0';
      if (__builtin_mul_overflow(number, std::int64_t{10}, &number)) return std::nullopt;
      if (__builtin_add_overflow(number, static_cast<std::int64_t>(negated ? -digit : digit), &number)) return std::nullopt;
    }
    if (at_ == begin) return std::nullopt;
    return Dim(number);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Symbol Symbol::named(std::string_view name) {
  SymbolTable& table = symbol_table();
  {
    const std::shared_lock lock(table.mutex);
    if (auto it = table.ids.find(name); it != table.ids.end()) return Symbol(it->second);
  }
  const std::unique_lock lock(table.mutex);
  if (auto it = table.ids.find(name); it != table.ids.end()) return Symbol(it->second);
  const auto id = static_cast<std::int32_t>(table.names.size());
  table.ids.emplace(table.names.emplace_back(name), id);
  return Symbol(id);
}

const std::string& Symbol::name() const {
  SymbolTable& table = symbol_table();
  const std::shared_lock lock(table.mutex);
  return table.names[static_cast<std::size_t>(id_)];
}

Dim::Dim(Symbol symbol) : constant_(0), terms_{{Monomial{symbol}, 1}} {}

std::optional<Symbol> Dim::as_symbol() const {
  if (constant_ != 0 || terms_.size() != 1 || terms_[0].second != 1 || terms_[0].first.size() != 1) return std::nullopt;
  return terms_[0].first[0];
}

std::vector<Symbol> Dim::symbols() const {
  std::vector<Symbol> all;
  for (const auto& [monomial, coefficient] : terms_) all.insert(all.end(), monomial.begin(), monomial.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::sort(all.begin(), all.end(), by_name);
  return all;
}

std::int64_t Dim::evaluate(const SymbolValues& values) const {
  std::int64_t sum = constant_;
  for (const auto& [monomial, coefficient] : terms_) {
    std::int64_t product = coefficient;
    for (Symbol symbol : monomial) {
      const auto it = values.find(symbol);
      if (it == values.end()) bad_size("the size '" + symbol.name() + "' is not known in '" + str() + "'");
      product = checked_multiply(product, it->second);
    }
    sum = checked_add(sum, product);
  }
  return sum;
}

Dim Dim::substitute(const std::map<Symbol, Dim>& by) const {
  Dim sum = constant_;
  for (const auto& [monomial, coefficient] : terms_) {
    Dim product = coefficient;
    for (Symbol symbol : monomial) {
      const auto it = by.find(symbol);
      product = product * (it == by.end() ? Dim(symbol) : it->second);
    }
    sum = sum + product;
  }
  return sum;
}

// Polynomial long division by leading terms: if the divisor divides exactly, its leading term divides the leading term of every
// remainder.
std::optional<Dim> Dim::divided_by(const Dim& divisor) const {
  const TermMap by = to_map(divisor.constant_, divisor.terms_);
  if (by.empty()) return std::nullopt;
  const auto& [lead, lead_coefficient] = *by.rbegin();
  TermMap remainder = to_map(constant_, terms_), result;
  while (!remainder.empty()) {
    const auto& [monomial, coefficient] = *remainder.rbegin();
    const std::optional<Monomial> factor = quotient(monomial, lead);
    // The only quotient that overflows; its remainder (%) is undefined too.
    const bool overflows = lead_coefficient == -1 && coefficient == std::numeric_limits<std::int64_t>::min();
    if (!factor || overflows || coefficient % lead_coefficient != 0) return std::nullopt;
    const std::int64_t times = coefficient / lead_coefficient;
    add_term(result, *factor, times);
    for (const auto& [m, c] : by) add_term(remainder, product(m, *factor), checked_multiply(checked_multiply(c, -1), times));
  }
  Dim dim;
  from_map(result, dim.constant_, dim.terms_);
  return dim;
}

// Largest terms first, ordered by name rather than by symbol id, so that the text does not depend on which name was interned
// first.
std::string Dim::str() const {
  std::vector<std::pair<Monomial, std::int64_t>> terms = terms_;
  for (auto& [monomial, coefficient] : terms) std::sort(monomial.begin(), monomial.end(), by_name);
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    if (a.first.size() != b.first.size()) return a.first.size() > b.first.size();
    return std::lexicographical_compare(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(), by_name);
  });
  std::string text;
  for (const auto& [monomial, coefficient] : terms) {
    if (coefficient == -1) {
      text += "-";
    } else {
      if (!text.empty() && coefficient > 0) text += "+";
      if (coefficient != 1) text += std::to_string(coefficient) + "*";
    }
    text += joined(monomial);
  }
  if (text.empty()) return std::to_string(constant_);
  if (constant_ != 0) text += (constant_ > 0 ? "+" : "") + std::to_string(constant_);
  return text;
}

std::optional<Dim> Dim::parse(std::string_view text) {
  try {
    return DimParser(text).parse();
  } catch (const UserError&) {  // a number that exceeds 63 bits
    return std::nullopt;
  }
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.terms_.empty() && b.terms_.empty()) return checked_add(a.constant_, b.constant_);
  TermMap sum = to_map(a.constant_, a.terms_);
  for (const auto& [monomial, coefficient] : to_map(b.constant_, b.terms_)) add_term(sum, monomial, coefficient);
  Dim dim;
  from_map(sum, dim.constant_, dim.terms_);
  return dim;
}

Dim operator-(const Dim& a, const Dim& b) {
  std::int64_t difference = 0;
  if (a.terms_.empty() && b.terms_.empty() && !__builtin_sub_overflow(a.constant_, b.constant_, &difference)) return difference;
  return a + Dim(-1) * b;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (a.terms_.empty() && b.terms_.empty()) return checked_multiply(a.constant_, b.constant_);
  TermMap result;
  const TermMap right = to_map(b.constant_, b.terms_);
  for (const auto& [left_monomial, left_coefficient] : to_map(a.constant_, a.terms_)) {
    for (const auto& [monomial, coefficient] : right) {
      add_term(result, product(left_monomial, monomial), checked_multiply(left_coefficient, coefficient));
    }
  }
  Dim dim;
  from_map(result, dim.constant_, dim.terms_);
  return dim;
}

bool operator<(const Dim& a, const Dim& b) {
  if (a.constant_ != b.constant_) return a.constant_ < b.constant_;
  return a.terms_ < b.terms_;
}

std::string str(const Shape& shape) {
  std::string text;
  for (const Dim& dim : shape) text += (text.empty() ? "" : ", ") + dim.str();
  return "[" + text + "]";
}

std::string str(const Sizes& sizes) {
  std::string text;
  for (std::int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return "[" + text + "]";
}

Dim element_count(const Shape& shape) {
  Dim count = 1;
  for (const Dim& dim : shape) count = count * dim;
  return count;
}

// An empty axis does not excuse the others: [2^62, 2^62, 0] would overflow wherever strides are computed.
std::int64_t element_count(const Sizes& sizes) {
  std::int64_t count = 1;
  bool none = false;
  for (std::int64_t size : sizes) {
    if (size < 0) bad_size("a size is negative: " + str(sizes));
    none = none || size == 0;
    if (__builtin_mul_overflow(count, std::max<std::int64_t>(size, 1), &count)) {
      bad_size("a tensor of sizes " + str(sizes) + " has more elements than 63 bits count");
    }
  }
  return none ? 0 : count;
}

Sizes evaluate(const Shape& shape, const SymbolValues& values) {
  Sizes sizes;
  sizes.reserve(shape.size());
  for (const Dim& dim : shape) {
    const std::int64_t size = dim.evaluate(values);
    if (size < 0) bad_size("the size '" + dim.str() + "' is negative: " + std::to_string(size));
    sizes.push_back(size);
  }
  return sizes;
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape& longer = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  const std::size_t lead = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = result[lead + i];
    if (dim.is(1)) {
      dim = shorter[i];
    } else if (!shorter[i].is(1) && dim != shorter[i]) {
      return std::nullopt;
    }
  }
  return result;
}

}  // namespace graphrun
