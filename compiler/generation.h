// Divides a graph that was written for training into what generation runs: a prologue, once per sentence, and a step, once per
// word.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace graphrun {

// Which scan runs word by word, and what each step returns.
struct GenerationSpec {
  std::string scan;  // a path; without numbers, it means all repetitions of a scan inside a `repeat`, which then step together
  // The name in `each` of the sequence that provides the last word, or the name of the graph's input that it comes from. The
  // sequence is an input [time, rows], or is computed from one such input alone.
  std::string feed;
  std::string score;                 // an output of the graph, else of the scan, else a value by its path: [time, rows, words]
  std::vector<std::string> fetches;  // further results: values [time, …], of each step, or values that do not depend on words
  bool shortlist = false;            // the score is computed for the words of a list alone: see GenerationGraphs::Shortlist
};

// The graph is divided after the optimizations that move work out of loops and before those that fuse it, so that the prologue
// computes everything that a step needs but that no word changes (such as an attention's keys). In the step, the time of the
// driven scans (those that run word by word) is 1.
//
// The prologue:
//   inputs   those of the graph, and one for the number of rows if none of them determines it
//   outputs  constants and initial values of states, by name; then fetches that no word changes
// The step:
//   inputs   "word" INT32 [rows], "step" INT32 [] (0 for the first), states and constants by name
//   outputs  kScoreOutput FLOAT [rows, words], fetches by name without their first axis, and each state's "next.NAME"
//
// States of the graph itself (of a stream) begin as zeros. A state that begins as zeros is not an output of the prologue. Its
// shape may contain a size of its own (`capacity`): the number of steps that a history has room for.
struct GenerationGraphs {
  struct Carried {
    std::string name;
    ir::TensorType type;
    int row_axis = -1;  // the axis of rows; -1: there is none, and the value is the same for all rows
    bool zeros = false;
  };
  ir::Graph prologue, step;
  std::vector<Carried> constants, states;
  Symbol rows;                   // one for each sentence in the prologue, for each hypothesis in the step
  std::vector<Symbol> capacity;  // the sizes of histories
  // The fetches that no word changes (an encoder's values): outputs of the prologue, under their names after kWholePrefix, with
  // all of their axes.
  std::vector<std::string> whole = {};
  // The input of the prologue, INT32 [rows], that only determines the number of rows; empty: it is not needed.
  std::string rows_input = {};

  // The words that a batch can need. With a shortlist, the step's score is [rows, count], for the words of the list, and the
  // prologue selects the parts of the parameters that belong to these words. Everything else, including the fetches, is the
  // same as without one.
  struct Shortlist {
    // Names among the prologue's inputs and the step's constants. `words`: the words of the list, INT32 [count], ascending.
    // `allowed`: which of them each sentence may use, BOOL [rows, count]; softmaxes in the step are over these alone, and the
    // search ignores the scores of the others.
    struct PassedOn {
      std::string input, constant;
    } words, allowed;
    Symbol count;
    std::int64_t vocabulary = 0;  // how many words there are in all
  };
  std::optional<Shortlist> shortlist = {};

  // The inputs of the prologue except rows_input and the shortlist's: what a line of input provides.
  std::vector<std::string> fed() const;
};
inline constexpr const char* kWholePrefix = "whole.";
inline constexpr const char* kWordInput = "word";
inline constexpr const char* kStepInput = "step";
inline constexpr const char* kScoreOutput = "generation.score";  // a fetch may be called "score"
inline constexpr const char* kNextPrefix = "next.";

// `checked` is a graph loaded for inference. Throws UserError (kInvalidGraph): E0431 unknown-scan, E0432 unknown-feed (no such
// name in `each`, or not computed from one input [time, rows]), E0433 score-shape, E0434 training-only (a step or the prologue
// needs an input that is known only in training), E0435 needs-all-steps (a result of a step depends on other steps, not only
// through states); with a shortlist, those of restrict_to_shortlist; and with_fetches' errors.
GenerationGraphs cut_for_generation(const ir::Graph& checked, const GenerationSpec& spec);

}  // namespace graphrun
