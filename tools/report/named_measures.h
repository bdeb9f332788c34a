// The measures that have names instead of formulas. `gold` is a feed of a field's entries, and `predicted` an output with
// numbers of the same vocabulary; both are INT32 [time, batch], with lengths= [batch]. Without lengths, every element counts.
//
//   accuracy(gold, predicted, lengths=lengths)
//     the fraction of equal elements; any equal shapes, also [batch]. Details, if gold has labels: the confusion matrix, and
//     figures by class
//   exact(gold, predicted, lengths=lengths)
//     the fraction of examples whose elements are all correct; any equal shapes whose last axis is the batch
//   spans(gold, predicted, lengths=lengths)
//     F1, .precision and .recall of labeled spans, like conlleval; details by kind
//   segmentation(gold, predicted, lengths=lengths)
//     F1, .precision and .recall of words from B, M, E, S tags, like SIGHAN's score
//     characters=FEED: compares words by diff, as that script does, instead of by place
//     known=FEED: a feed of the gold words, for .oov_rate, .oov_recall and .iv_recall; its vocabulary (the training words, or a
//     list in a file) defines the known words
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/expression.h"
#include "tools/report/measure.h"

namespace graphrun {

bool is_named_measure(const ir::Expression& e);

// The vocabulary of a feed by its name; null if the feed does not contain a field's entries.
using VocabularyOf = std::function<const Vocabulary*(const std::string& feed)>;

class NamedMeasure : public Measure {
 public:
  // Binds the vocabularies of the feeds that it reads. Throws UserError (kInvalidGraph, E0414) if there is none, or its entries
  // are not tags of the required kind.
  virtual void bind(const VocabularyOf& vocabulary) = 0;
  // Those of its names that must be numbers of labels or lengths.
  virtual std::vector<NameUse> labels() const { return names(); }
};

// Throws UserError (kInvalidGraph, E0414) if the arguments are wrong.
std::unique_ptr<NamedMeasure> make_named_measure(const ir::Expression& e);
std::vector<std::string> named_measures();

}  // namespace graphrun
