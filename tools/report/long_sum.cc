// Sums and products as in Dekker 1971: what an operation drops is itself a double, computed here. The build compiles this file
// without contracted operations, which round once where this file counts on two roundings.
#include "tools/report/long_sum.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

namespace graphrun {

void LongSum::set(double sum, double dropped) {
  high_ = sum + dropped;
  low_ = std::isfinite(high_) ? dropped - (high_ - sum) : 0;
  if (!std::isfinite(sum)) high_ = sum;  // `dropped` is then NaN
}

LongSum& LongSum::operator+=(const LongSum& other) {
  const double sum = high_ + other.high_, added = sum - high_;
  const double dropped = (high_ - (sum - added)) + (other.high_ - added);
  set(sum, dropped + (low_ + other.low_));
  return *this;
}

void LongSum::add_product(double a, double b) {
  LongSum product;
  const double rounded = a * b;
  product.set(rounded, std::fma(a, b, -rounded));
  *this += product;
}

LongSum operator*(const LongSum& a, const LongSum& b) {
  LongSum product;
  const double rounded = a.high_ * b.high_;
  product.set(rounded, std::fma(a.high_, b.high_, -rounded) + (a.high_ * b.low_ + a.low_ * b.high_));
  return product;
}

LongSum operator-(LongSum a, const LongSum& b) {
  LongSum negative;
  negative.high_ = -b.high_, negative.low_ = -b.low_;
  return a += negative;
}

std::string LongSum::text() const { return fmt::format("{:a} {:a}", high_, low_); }

LongSum LongSum::parse(const std::string& text) {
  char* end = nullptr;
  LongSum sum(std::strtod(text.c_str(), &end));
  sum.low_ = std::strtod(end, nullptr);
  return sum;
}

}  // namespace graphrun
