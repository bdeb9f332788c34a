// A sum of doubles with twice the digits of a double, so that the difference of two large sums still has correct digits.
#pragma once

#include <string>

namespace graphrun {

class LongSum {
 public:
  LongSum() = default;
  LongSum(double value) : high_(value) {}

  LongSum& operator+=(const LongSum& other);
  // The same digits as +=, without rounding the product to a double first.
  void add_product(double a, double b);

  // The nearest double.
  double value() const { return high_; }
  // Two hexadecimal numbers, which read back to the same bits.
  std::string text() const;
  static LongSum parse(const std::string& text);

  friend LongSum operator*(const LongSum& a, const LongSum& b);
  friend LongSum operator-(LongSum a, const LongSum& b);

 private:
  // Takes a rounded sum and what the rounding dropped.
  void set(double sum, double dropped);

  double high_ = 0, low_ = 0;  // low_: what rounding to high_ drops; 0 if high_ is not finite
};

}  // namespace graphrun
