// Cuts a graph that was written for training into what generation runs: once per sentence the prologue, once per word the step.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Which scan is driven word by word, and what is wanted of each step.
struct GenerationSpec {
  std::string scan;  // a path; of scans inside a `repeat` without the numbers, all of them then step together
  // The name in `each` of the sequence that the last word is read from: an input [time, rows], or made of one and of no other;
  // or that input's own name.
  std::string feed;
  std::string score;                 // an output of the graph, else of the scan, else a value by its path: [time, rows, words]
  std::vector<std::string> fetches;  // more values: each [time, …], that a step shall give, or what no word changes
};

// Both graphs come after the optimisations that move work out of loops and before those that join it, so that what a step needs
// and no word changes (attention's keys, say) is made in the prologue. The time of the driven scans is 1 in the step.
//
// The prologue:
//   inputs   those of the graph, and one for the rows where none of them tells those
//   outputs  constants and what states begin with, by name; then fetches that no word changes
// The step:
//   inputs   "word" INT32 [rows], "step" INT32 [] (0 for the first), states and constants by name
//   outputs  "score" FLOAT [rows, words], fetches by name without their first axis, and each state's "next.NAME"
//
// The states of the graph itself, a stream's, begin as zeros. A state that does is no output of the prologue. Its shape may
// have sizes of its own (`capacity`): as many steps as a history has room for.
struct GenerationGraphs {
  struct Carried {
    std::string name;
    ir::TensorType type;
    int row_axis = -1;  // where the rows stand; -1: it has none and is the same for all
    bool zeros = false;
  };
  ir::Graph prologue, step;
  std::vector<Carried> constants, states;
  Symbol rows;                   // one for each sentence in the prologue, for each hypothesis in the step
  std::vector<Symbol> capacity;  // the sizes of histories
  // The fetches that no word changes (an encoder's values): outputs of the prologue, by kWholePrefix and their names, whole.
  std::vector<std::string> whole = {};
  // The input of the prologue, INT32 [rows], that is there to tell how many rows there are; empty: another does, or none need.
  std::string rows_input = {};

  // What a line is read for: the prologue's inputs but that one.
  std::vector<std::string> fed() const;
};
inline constexpr const char* kWholePrefix = "whole.";
inline constexpr const char* kWordInput = "word";
inline constexpr const char* kStepInput = "step";
inline constexpr const char* kScoreOutput = "score";
inline constexpr const char* kNextPrefix = "next.";

// `checked` is a graph loaded for inference. Throws UserError (kInvalidGraph): E0431 unknown-scan, E0432 unknown-feed (no such
// name in `each`, or not made of one input [time, rows]), E0433 score-shape, E0434 training-only (what a step or the
// prologue needs is known in training alone), E0435 needs-all-steps (a value wanted of a step depends on other steps than by
// states); and with_fetches' errors.
GenerationGraphs cut_for_generation(const ir::Graph& checked, const GenerationSpec& spec);

}  // namespace graphrun
