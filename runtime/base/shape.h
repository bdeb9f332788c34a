// Known and unknown sizes. A Dim is a polynomial over symbols (`time`, `2*batch + 1`); a Shape is a list of Dims. Symbols get
// their values when a batch is bound; everything before that computes with polynomials.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace graphrun {

// The name of a size that is unknown until run time. Names are interned: equal names are equal symbols.
class Symbol {
 public:
  static Symbol named(std::string_view name);
  const std::string& name() const;
  std::int32_t id() const { return id_; }
  friend bool operator==(Symbol a, Symbol b) { return a.id_ == b.id_; }
  friend bool operator<(Symbol a, Symbol b) { return a.id_ < b.id_; }

 private:
  explicit Symbol(std::int32_t id) : id_(id) {}
  std::int32_t id_;
};

// The values of the symbols for one batch.
using SymbolValues = std::map<Symbol, std::int64_t>;

// A size: an integer polynomial over symbols in normal form, so that equal sizes compare equal.
class Dim {
 public:
  Dim(std::int64_t constant = 0) : constant_(constant) {}  // NOLINT: a number is a size
  Dim(int constant) : constant_(constant) {}               // NOLINT
  Dim(Symbol symbol);                                      // NOLINT

  bool is_constant() const { return terms_.empty(); }
  std::int64_t constant() const { return constant_; }  // the constant term; the value if is_constant()
  bool is(std::int64_t n) const { return terms_.empty() && constant_ == n; }
  std::optional<Symbol> as_symbol() const;  // if the size is exactly one symbol
  std::vector<Symbol> symbols() const;      // all symbols that occur, each once

  // Throws UserError (E0602) if a symbol has no value or the result exceeds 63 bits.
  std::int64_t evaluate(const SymbolValues& values) const;
  Dim substitute(const std::map<Symbol, Dim>& by) const;
  // The quotient by a number or polynomial; nothing if the division is not exact.
  std::optional<Dim> divided_by(const Dim& divisor) const;

  std::string str() const;  // "2*batch*time+1"; parse reads it back
  static std::optional<Dim> parse(std::string_view text);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b) { return a.constant_ == b.constant_ && a.terms_ == b.terms_; }
  friend bool operator!=(const Dim& a, const Dim& b) { return !(a == b); }
  friend bool operator<(const Dim& a, const Dim& b);  // any total order, for maps

 private:
  using Monomial = std::vector<Symbol>;  // sorted, with repetition
  std::int64_t constant_;
  std::vector<std::pair<Monomial, std::int64_t>> terms_;  // sorted, no zero coefficient
};

using Shape = std::vector<Dim>;
using Sizes = std::vector<std::int64_t>;

std::string str(const Shape& shape);  // "[time, batch, 300]"
std::string str(const Sizes& sizes);  // "[35, 20, 300]"
Dim element_count(const Shape& shape);
std::int64_t element_count(const Sizes& sizes);  // throws UserError (E0602) if it exceeds 63 bits
Sizes evaluate(const Shape& shape, const SymbolValues& values);

// NumPy's broadcasting, except that only a literal 1 broadcasts, never a symbol. Nothing if the shapes do not fit.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

}  // namespace graphrun
