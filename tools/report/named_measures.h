// The measures that have names instead of formulas. `gold` is a feed of a field's entries, `predicted` an output of numbers of
// the same vocabulary, both INT32 [time, batch] with lengths= [batch]; without lengths every element counts.
//
//   accuracy(gold, predicted, lengths=lengths)       the share of equal elements; any equal shapes, also [batch]
//   spans(gold, predicted, lengths=lengths)          F1, .precision and .recall of labelled spans, as conlleval
//   segmentation(gold, predicted, lengths=lengths)   F1, .precision and .recall of words out of B, M, E, S tags, as SIGHAN's
//   score;
//                                                    characters=FEED compares words as it does, by diff, instead of by place
#pragma once

#include <memory>

#include "compiler/ir/expression.h"
#include "tools/report/measure.h"

namespace graphrun {

bool is_named_measure(const ir::Expression& e);

class NamedMeasure : public Measure {
 public:
  // The feed whose field's vocabulary bind() wants; empty: none.
  virtual std::string labels() const { return ""; }
  // Throws UserError (kInvalidGraph, E0414) where the entries are no tags of the kind that it needs.
  virtual void bind(const Vocabulary&) {}
};

// Throws UserError (kInvalidGraph, E0414) where the arguments are others.
std::unique_ptr<NamedMeasure> make_named_measure(const ir::Expression& e);
std::vector<std::string> named_measures();

}  // namespace graphrun
