// The search as a graph: a step of generation that also chooses the words that follow, by beam search or by drawing them, so
// that a device does both and the host waits for neither.
#pragma once

#include <string>
#include <vector>

#include "compiler/generation.h"
#include "tools/generate/search_options.h"

namespace graphrun {

// Names of inputs and outputs besides those of the step. S: sentences; B: hypotheses of a sentence at a time, its places; N:
// the best that are kept; R: rows of the step, each of which stands for one place. Places without a row have no hypothesis.
namespace search_names {
inline constexpr const char* kLive = "search.live";    // FLOAT [S, B]: log-probabilities; kNothing: no hypothesis there
inline constexpr const char* kEnded = "search.ended";  // INT32 [S]: how many have ended
inline constexpr const char* kBest = "search.best";    // FLOAT [S, N]: the best ends' scores, best first; kNothing: none there
// INT32 [S, N]: 2 · the step that chose its last word, + 1 where it ended.
inline constexpr const char* kBestStep = "search.step";
inline constexpr const char* kBestPlace = "search.place";  // INT32 [S, N]: s·B + the place of that choice
// Inputs alone:
inline constexpr const char* kMost = "search.most";         // INT32 [S]: words at most
inline constexpr const char* kRowOf = "search.row_of";      // INT32 [S, B]: of a place; any where it has none
inline constexpr const char* kPlaceOf = "search.place_of";  // INT32 [R]: s·B + the place of a row
// INT32 [words + 1, S]: what must come next, with a shortlist its place there; kNoWord: anything.
inline constexpr const char* kGiven = "search.given";
inline constexpr const char* kKeys = "search.keys";  // INT32 [S, 3]: see the operator `categorical`
// Outputs alone, of what is chosen, by place:
inline constexpr const char* kWords = "search.words";      // INT32 [S·B]
inline constexpr const char* kParents = "search.parents";  // INT32 [S·B]: the row of this step that each comes from
inline constexpr const char* kGains = "search.gains";      // FLOAT [S·B]: the words' log-probabilities
inline constexpr const char* kLives = "search.lives";      // INT32 [S]: 1 where a hypothesis lives
}  // namespace search_names
// Less than any log-probability. A hypothesis with half of it, or less, is none.
inline constexpr float kNothing = -1e30F;

// The step of the cut with the search behind it. Of `options` the beginning of sentences does not matter; with `sampling` each
// sample is a sentence of its own, and beam and n_best are 1. Inputs: the step's, and those above that the options need.
// Outputs, in this order: what the next step is fed, kNextPrefix before each name (step, the step's states with the rows of
// this step, kLive to kBestPlace), kWords to kLives, and the fetches, which are of the spec that made the cut.
ir::Graph with_search(const GenerationGraphs& cut, const SearchOptions& options, const std::vector<std::string>& fetches);

}  // namespace graphrun
