// Adafactor's passes over elements on the CPU, each over one part of a parameter.
#pragma once

#include "ops/optimizer/adafactor.h"

namespace graphrun {

// Rows [begin, end) of a factored parameter, counted through all matrices; otherwise elements [begin, end). Sums are in double.
template <class T>
struct AdafactorPart {
  const AdafactorTask<T>& task;
  const AdafactorNumbers& numbers;
  std::int64_t begin, end;
  double* columns = nullptr;     // for each column of the part: sum of g'²
  double* parameters = nullptr;  // one: sum of p²
  double* steps = nullptr;       // one: sum of squared unclipped steps
  AdafactorLength length = {};
};

// For a factored parameter: the sums of columns and of p², and s' of its rows.
void adafactor_rows(const AdafactorPart<float>& part);
void adafactor_rows(const AdafactorPart<double>& part);
// For a factored parameter: the sum of squared steps.
void adafactor_steps(const AdafactorPart<float>& part);
void adafactor_steps(const AdafactorPart<double>& part);
// For other parameters: s' and both sums.
void adafactor_elements(const AdafactorPart<float>& part);
void adafactor_elements(const AdafactorPart<double>& part);
// For both kinds: p' and m'.
void adafactor_move(const AdafactorPart<float>& part);
void adafactor_move(const AdafactorPart<double>& part);

}  // namespace graphrun
