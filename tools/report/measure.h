// A measure accumulates figures over a set: it sees every batch and returns numbers at the end. Numerators and denominators are
// summed over the whole set, in double or with twice its digits, so no number is a mean of means or depends on how examples are
// batched.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "tools/report/table.h"
#include "tools/text/vocabulary.h"

namespace graphrun {

// In formulas: one element for each example of a batch.
inline constexpr const char* kRowsName = "rows";

// The outputs and feeds of one batch, by name.
struct BatchValues {
  std::map<std::string, Tensor> tensors;
  std::int64_t rows = 0;

  const Tensor& at(const std::string& name) const;  // throws InternalError if it is missing
};

// A name in a formula, with its location in the job.
struct NameUse {
  std::string name;
  Location at;
};

class Measure {
 public:
  virtual ~Measure() = default;
  virtual const std::vector<NameUse>& names() const = 0;
  // Throws UserError (kInvalidGraph, E0414) if a tensor does not fit the formula.
  virtual void add(const BatchValues& values) = 0;
  // Suffixes and numbers: {"", f1}, {".precision", p}, …
  virtual std::vector<std::pair<std::string, double>> results() const = 0;
  // Figures that are too many for one line.
  virtual std::vector<Table> details() const { return {}; }
  virtual void clear() = 0;
  // The exact sums so far. Except for a text measure, each of its numbers is a sum, and the same key means the same sum in
  // every state, so that the states of parts of a set can be added.
  virtual nlohmann::json state() const = 0;
  virtual void restore(const nlohmann::json& state) = 0;
};

// Throws UserError (kInvalidGraph, E0414 bad-report).
[[noreturn]] void report_error(const Location& at, std::string text, std::string help = "");

// Which elements of x count: an element of x [.., time, batch, ..] is real if its index along time is below lengths [..,
// batch]. The axes of lengths, except the last, are the leading axes of x. Without lengths, all elements count.
class Mask {
 public:
  Mask(const Sizes& x, const Tensor* lengths, const NameUse& use);
  bool operator[](std::int64_t element) const {
    if (!lengths_) return true;
    const std::int64_t outer = element / inner_, batch = outer % batch_, position = outer / batch_ % time_;
    return position < lengths_[outer / (batch_ * time_) * batch_ + batch];
  }

 private:
  const std::int32_t* lengths_ = nullptr;
  std::int64_t time_ = 1, batch_ = 1, inner_ = 1;
};

}  // namespace graphrun
