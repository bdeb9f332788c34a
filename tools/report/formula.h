// A report's formula: arithmetic over sums, means and counts of outputs and feeds.
//
//   exp(mean(nll))                    sum(nll) / sum(target_lengths)
//   sum(margin) / count(rows)         mean(path == tags, lengths=lengths)
//
// sum, mean, count and deviation take an elementwise expression over values of equal shape (or numbers), and `lengths=`;
// mean(x) is sum(x) / count(x). deviation(x) is the root of the mean squared difference from the mean, correlation(x, y)
// Pearson's. `rows` has one element for each example. Outside of them: + - * /, unary -, exp, log, sqrt, numbers.
#pragma once

#include <memory>

#include "compiler/ir/expression.h"
#include "tools/report/measure.h"

namespace graphrun {

// Throws UserError (kInvalidGraph, E0414) if it is not such a formula.
std::unique_ptr<Measure> make_formula(const ir::Expression& formula);

}  // namespace graphrun
