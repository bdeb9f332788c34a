// Beam search as a graph: a step of generation that also chooses the next words, so that a device does both and the host waits
// for neither. What it chooses is what beam_search chooses (tools/generate/beam_search.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/generation.h"
#include "tools/generate/beam_search.h"

namespace graphrun {

// Names of inputs and outputs beside those of the step. S: sentences; L, B: hypotheses of a sentence before and after the step;
// N: the best that are kept. A sentence's rows stand together.
namespace search_names {
inline constexpr const char* kLive = "search.live";    // FLOAT [S, L] in, [S, B] out: log-probabilities; kNothing: none there
inline constexpr const char* kEnded = "search.ended";  // INT32 [S]: how many have ended
inline constexpr const char* kBest = "search.best";    // FLOAT [S, N]: the best ends' scores, best first; kNothing: none there
inline constexpr const char* kBestSum = "search.sum";  // FLOAT [S, N]: their log-probabilities
// INT32 [S, N]: 2 · the step that made its last word, + 1 where it ended.
inline constexpr const char* kBestStep = "search.step";
inline constexpr const char* kBestPlace = "search.place";  // INT32 [S, N]: where its last word stands in what that step chose
inline constexpr const char* kMost = "search.most";        // INT32 [S] in: words at most
inline constexpr const char* kParent = "search.parent";    // INT32 [S·B] out: the row of this step that each comes from
inline constexpr const char* kGoesOn = "search.goes_on";   // INT32 [S] out: 1 where a hypothesis lives
}  // namespace search_names
// Less than any log-probability. A hypothesis with half of it, or less, is none.
inline constexpr float kNothing = -1e30F;

struct SearchGraphOptions {
  std::int64_t before = 1, beam = 1, n_best = 1;  // L, B, N
  std::int64_t min_length = 0;
  std::int32_t end = 0;
  LengthNorm norm;
  std::vector<std::string> fetches;  // of the spec that made the cut
};

// The step of the cut with the search behind it. Inputs: the step's and those above. Outputs: in this order what the next step
// is fed, kNextPrefix before each name (word, step, states, kLive to kBestPlace), kParent, kGoesOn, and the fetches.
ir::Graph with_search(const GenerationGraphs& cut, const SearchGraphOptions& options);

}  // namespace graphrun
