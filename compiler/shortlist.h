// Restricts what generation scores to a list of words.
#pragma once

#include "compiler/generation.h"

namespace graphrun {

// Replaces the score of the step, [rows, words], by one for the words of a list. It follows the axis of words back from the
// score to the parameters that have it (the columns or rows of an output layer, a bias); the prologue selects the list's part
// of these once a batch. Softmaxes and sums over the axis then cover only the words of the list that the row may use. Throws
// UserError (kInvalidGraph, E0436 no-shortlist) at the operation through which the axis cannot be followed.
void restrict_to_shortlist(GenerationGraphs& made);

}  // namespace graphrun
