// Adafactor's passes over elements on the CPU, for one part of a parameter each.
#pragma once

#include "ops/optimizer/adafactor.h"

namespace graphrun {

// Rows [begin, end), counted through all matrices, of a factored parameter; else elements [begin, end). Sums are in double.
template <class T>
struct AdafactorPart {
  const AdafactorTask<T>& task;
  const AdafactorNumbers& numbers;
  std::int64_t begin, end;
  double* columns = nullptr;     // of the part, for each column: sum of g'²
  double* parameters = nullptr;  // one: sum of p²
  double* steps = nullptr;       // one: sum of squared unclipped steps
  AdafactorLength length = {};
};

// A factored parameter's sums of columns and of p², and its rows' s'.
void adafactor_rows(const AdafactorPart<float>& part);
void adafactor_rows(const AdafactorPart<double>& part);
// A factored parameter's sum of squared steps.
void adafactor_steps(const AdafactorPart<float>& part);
void adafactor_steps(const AdafactorPart<double>& part);
// s' and both sums of elements alone.
void adafactor_elements(const AdafactorPart<float>& part);
void adafactor_elements(const AdafactorPart<double>& part);
// p' and m' of either.
void adafactor_move(const AdafactorPart<float>& part);
void adafactor_move(const AdafactorPart<double>& part);

}  // namespace graphrun
