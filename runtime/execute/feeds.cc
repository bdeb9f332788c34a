#include "runtime/execute/feeds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/status.h"

namespace graphrun {
namespace {

using Wide = __int128;

bool is_float(DType dtype) { return dtype == DType::kFloat32 || dtype == DType::kFloat64; }

class SizeBinder {
 public:
  SizeBinder(const Program& program, const Feeds& feeds) : program_(program), feeds_(feeds) {}

  SymbolValues run() {
    match_names();
    throw_mistakes();
    bind_symbols();
    solve_rest();
    check_all();
    throw_mistakes();
    return std::move(values_);
  }

 private:
  bool known(const Dim& dim) const {
    const std::vector<Symbol> symbols = dim.symbols();
    return std::all_of(symbols.begin(), symbols.end(), [&](Symbol s) { return values_.count(s) != 0; });
  }
  void mistake(std::string code, std::string text, std::vector<std::string> notes = {}) {
    mistakes_.push_back({Severity::kError, std::move(code), {}, std::move(text), std::move(notes)});
  }
  void throw_mistakes() {
    if (!mistakes_.empty()) throw UserError(ExitCode::kBadData, std::move(mistakes_));
  }

  void match_names();
  void match(const FeedSpec& spec, const Tensor& tensor);
  void bind_symbols();
  void solve_rest();
  bool solve(const FeedSpec& spec, const Dim& dim, std::int64_t size);
  void check_all();
  std::string given(const Dim& dim) const;

  const Program& program_;
  const Feeds& feeds_;
  SymbolValues values_;
  std::map<Symbol, std::string> bound_by_;  // by which input
  std::vector<Diagnostic> mistakes_;
};

void SizeBinder::match_names() {
  std::vector<std::string> names;
  for (const FeedSpec& spec : program_.feeds) {
    names.push_back(spec.name);
    if (const auto feed = feeds_.find(spec.name); feed != feeds_.end() && !feed->second.empty()) {
      match(spec, feed->second);
    } else {
      mistake("E0620 missing-feed",
              "input '" + spec.name + "' is not fed; expected " + std::string(name_of(spec.dtype)) + str(spec.shape));
    }
  }
  if (feeds_.size() + mistakes_.size() <= program_.feeds.size()) return;
  for (const auto& [name, tensor] : feeds_) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = did_you_mean(name, names);
    mistake("E0621 unknown-feed", "there is no input '" + name + "' to feed",
            near.empty() ? std::vector<std::string>{} : std::vector<std::string>{"help: " + near});
  }
}

void SizeBinder::match(const FeedSpec& spec, const Tensor& tensor) {
  const bool converts = !tensor.on_device() && is_float(tensor.dtype()) && is_float(spec.dtype);
  const bool fits = tensor.dtype() == spec.dtype || converts;
  if (!fits) {
    mistake("E0622 feed-type", "input '" + spec.name + "' is fed " + std::string(name_of(tensor.dtype())) + "; expected " +
                                   std::string(name_of(spec.dtype)));
  }
  if (tensor.sizes().size() != spec.shape.size()) mistake("E0623 feed-shape", wrong_rank(spec, tensor.sizes()));
}

// Binds sizes that are a single symbol. If two inputs disagree, the error names both.
void SizeBinder::bind_symbols() {
  for (const FeedSpec& spec : program_.feeds) {
    const Sizes& sizes = feeds_.at(spec.name).sizes();
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const std::optional<Symbol> symbol = spec.shape[axis].as_symbol();
      if (!symbol) continue;
      const auto [it, fresh] = values_.emplace(*symbol, sizes[axis]);
      if (fresh) {
        bound_by_.emplace(*symbol, spec.name);
      } else if (it->second != sizes[axis]) {
        mistake("E0624 size-conflict", "'" + symbol->name() + "' is " + std::to_string(it->second) + " in input '" +
                                           bound_by_.at(*symbol) + "' but " + std::to_string(sizes[axis]) + " in input '" +
                                           spec.name + "' " + str(spec.shape) + ", which is fed the sizes " + str(sizes));
      }
    }
  }
}

// Evaluates defined symbols, and solves sizes with one unbound symbol, until nothing more follows.
void SizeBinder::solve_rest() {
  for (bool progress = true; progress;) {
    progress = false;
    for (const auto& [symbol, dim] : program_.defined_symbols) {
      if (values_.count(symbol) != 0 || !known(dim)) continue;
      values_.emplace(symbol, dim.evaluate(values_));
      progress = true;
    }
    for (const FeedSpec& spec : program_.feeds) {
      const Sizes& sizes = feeds_.at(spec.name).sizes();
      for (std::size_t axis = 0; axis < sizes.size(); ++axis) progress |= solve(spec, spec.shape[axis], sizes[axis]);
    }
  }
}

// Solves dim = a·x + c, where x is the only unbound symbol: x = (size - c) / a.
bool SizeBinder::solve(const FeedSpec& spec, const Dim& dim, std::int64_t size) {
  std::optional<Symbol> unknown;
  for (Symbol s : dim.symbols()) {
    if (values_.count(s) != 0) continue;
    if (unknown) return false;
    unknown = s;
  }
  if (!unknown) return false;
  const auto at = [&](std::int64_t x) -> Wide {
    SymbolValues with = values_;
    with[*unknown] = x;
    return dim.evaluate(with);
  };
  // In more than 63 bits, which differences of 63-bit numbers may need.
  const Wide c = at(0), a = at(1) - c, rest = size - c;
  if (a == 0 || at(2) != c + 2 * a || rest % a != 0 || rest / a < 0) return false;
  values_.emplace(*unknown, static_cast<std::int64_t>(rest / a));
  bound_by_.emplace(*unknown, spec.name);
  return true;
}

// ", where time = 7 by input 'words'": the known symbols of a size.
std::string SizeBinder::given(const Dim& dim) const {
  std::string text;
  for (Symbol s : dim.symbols()) {
    const auto value = values_.find(s);
    if (value == values_.end()) continue;
    const auto by = bound_by_.find(s);
    text += (text.empty() ? ", where " : ", ") + s.name() + " = " + std::to_string(value->second) +
            (by == bound_by_.end() ? "" : " by input '" + by->second + "'");
  }
  return text;
}

void SizeBinder::check_all() {
  for (const FeedSpec& spec : program_.feeds) {
    const Sizes& sizes = feeds_.at(spec.name).sizes();
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const Dim& dim = spec.shape[axis];
      if (dim.as_symbol()) continue;  // bound, or its conflict reported
      if (known(dim) && dim.evaluate(values_) == sizes[axis]) continue;
      mistake("E0623 feed-shape",
              "input '" + spec.name + "' is fed the sizes " + str(sizes) + "; expected " + str(spec.shape) + given(dim));
      break;
    }
  }
  for (const auto& [symbol, dim] : program_.defined_symbols) {
    const auto value = values_.find(symbol);
    if (value == values_.end() || !known(dim) || dim.evaluate(values_) == value->second) continue;
    mistake("E0624 size-conflict", "'" + symbol.name() + "' is " + std::to_string(value->second) +
                                       " as fed, but is defined as " + dim.str() + " = " +
                                       std::to_string(dim.evaluate(values_)));
  }
}

// The position, formatted as "[2, 5]".
std::string position_of(std::int64_t index, const Sizes& sizes) {
  Sizes position(sizes.size());
  for (std::size_t axis = sizes.size(); axis-- > 0;) {
    position[axis] = index % sizes[axis];
    index /= sizes[axis];
  }
  return str(position);
}

// The first element outside [0, limit); -1 if none.
template <class T>
std::int64_t first_outside(const Tensor& tensor, std::int64_t limit) {
  const std::span<const T> elements = tensor.span<T>();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (static_cast<std::int64_t>(elements[i]) < 0 || static_cast<std::int64_t>(elements[i]) >= limit) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

void check_range(const FeedSpec& spec, const Tensor& tensor, std::int64_t limit, const std::string& why) {
  const std::int64_t i =
      spec.dtype == DType::kBool ? first_outside<std::uint8_t>(tensor, limit) : first_outside<std::int32_t>(tensor, limit);
  if (i < 0) return;
  const std::int64_t found = spec.dtype == DType::kBool ? tensor.data<std::uint8_t>()[i] : tensor.data<std::int32_t>()[i];
  throw UserError(ExitCode::kBadData, "E0626 feed-out-of-range",
                  "input '" + spec.name + "' holds " + std::to_string(found) + " at " + position_of(i, tensor.sizes()) +
                      ", expected from 0 to " + std::to_string(limit - 1) + " " + why);
}

}  // namespace

SymbolValues bind_sizes(const Program& program, const Feeds& feeds) { return SizeBinder(program, feeds).run(); }

std::string wrong_rank(const FeedSpec& spec, const Sizes& sizes) {
  const std::string fed = sizes.empty() ? "a scalar" : "the sizes " + str(sizes);
  return "input '" + spec.name + "' is fed " + fed + "; expected " + (spec.shape.empty() ? "a scalar" : str(spec.shape));
}

void check_elements(const Program& program, const Feeds& feeds, const SymbolValues& symbols) {
  for (const FeedSpec& spec : program.feeds) {
    const Tensor& tensor = feeds.at(spec.name);
    if (tensor.on_device()) continue;
    if (spec.dtype == DType::kBool) check_range(spec, tensor, 2, "(BOOL)");
    if (spec.dtype != DType::kInt32) continue;
    if (spec.below) check_range(spec, tensor, spec.below->evaluate(symbols), "(below " + spec.below->str() + ")");
    // If no input has that size, the lengths cannot exceed it.
    if (spec.lengths_of && symbols.count(*spec.lengths_of) != 0) {
      check_range(spec, tensor, symbols.at(*spec.lengths_of) + 1, "(lengths of " + spec.lengths_of->name() + ")");
    }
  }
}

}  // namespace graphrun
