// The search as a graph: a step of generation that also chooses the next words, by beam search or sampling, so that a device
// does both without waiting for the host.
#pragma once

#include <string>
#include <vector>

#include "compiler/generation.h"
#include "tools/generate/search_options.h"

namespace graphrun {

// Names of inputs and outputs in addition to those of the step. S: sentences; B: hypotheses of a sentence at a time, called its
// places; N: the best that are kept; R: rows of the step, each of which belongs to one place. Places without a row have no
// hypothesis.
namespace search_names {
inline constexpr const char* kLive = "search.live";    // FLOAT [S, B]: log-probabilities; kNothing if there is no hypothesis
inline constexpr const char* kEnded = "search.ended";  // INT32 [S]: how many have ended
inline constexpr const char* kBest =
    "search.best";  // FLOAT [S, N]: scores of the best ended hypotheses, best first; kNothing if there is none
// INT32 [S, N]: 2 · the step that chose its last word, + 1 if it ended.
inline constexpr const char* kBestStep = "search.step";
inline constexpr const char* kBestPlace = "search.place";  // INT32 [S, N]: s·B + the place of that choice
// Inputs only:
inline constexpr const char* kMost = "search.most";         // INT32 [S]: the most words
inline constexpr const char* kFirstPlace = "search.first";  // INT32 [S]: s·B
inline constexpr const char* kRowOf = "search.row_of";      // INT32 [S, B]: the row of a place; any number if it has none
inline constexpr const char* kPlaceOf = "search.place_of";  // INT32 [R]: s·B + the place of each row
// INT32 [R]: the sentence of each row among those of the prologue, if a constant is shared by the rows of a sentence.
inline constexpr const char* kSourceOf = "search.source_of";
// INT32 [words + 1, S]: the required next word or, with a shortlist, its position in the list; kNoWord: any.
inline constexpr const char* kGiven = "search.given";
inline constexpr const char* kKeys = "search.keys";  // INT32 [S, 3]: see the operator `categorical`
// Outputs only, by place of a choice:
inline constexpr const char* kWords = "search.words";      // INT32 [S·B]
inline constexpr const char* kParents = "search.parents";  // INT32 [S·B]: the parent row in this step
inline constexpr const char* kGains = "search.gains";      // FLOAT [S·B]: the words' log-probabilities
inline constexpr const char* kLives = "search.lives";      // INT32 [S]: 1 if a hypothesis is live
}  // namespace search_names
// Less than any log-probability. Half of it or less means that there is no hypothesis.
inline constexpr float kNothing = -1e30F;

// The step of the cut, followed by the search. The begin symbol in `options` is not used; with `sampling`, each sample is a
// sentence of its own, and beam and n_best are 1; `samples`: how many each sentence has. Inputs: the step's, and those above
// that the options need. Outputs, in this order: the feeds of the next step, named with kNextPrefix (step, the step's states
// with the rows of this step, kLive to kBestPlace), kWords to kLives, and the fetches of the spec that made the cut.
//
// If a sentence may have several rows, they share those constants that pointwise work alone reads, such as an attention's keys:
// the input has the sentences of the prologue in place of rows, and kSourceOf says which a row reads.
ir::Graph with_search(const GenerationGraphs& cut, const SearchOptions& options, const std::vector<std::string>& fetches,
                      std::int64_t samples = 1);

}  // namespace graphrun
