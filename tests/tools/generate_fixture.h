// A job that learns to translate words one by one, for tests of generation by the program.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "tests/tools/program_fixture.h"

namespace graphrun {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// A language whose words correspond one to one to those of another.
inline constexpr const char* kGeneratingJob = R"x(
graph: "translator.pbtxt"
arg: "embed = 12, hidden = 16, source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
data {
  train: ["../../data/left", "../../data/right"]  valid: ["../../data/left", "../../data/right"]  format: PARALLEL
  field { name: "left"  column: 0 split: SPACE }
  field { name: "right" column: 1 split: SPACE }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
train {
  minimize: "loss"  initialize { match: "*" uniform: 0.3 }
  optimizer { adam { learning_rate: 0.02 } }  clip { global_norm: 5 }
  epochs: 12
}
report: "perplexity = exp(sum(nll) / sum(target_lengths))"
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" beam: 3
                   length { normalize: LENGTH } max_length: "source_time + 2"
                   align { from: "alignment" field: "left" } } }
infer { name: "look"  read: TSV write: MATRIX  from: "alignment" }
infer { name: "worth" read: TSV write: NUMBERS from: "nll" }
)x";

class Generate : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write_word_pairs(60, 1, 4);
    write("graphs/jobs/say.pbtxt", kGeneratingJob);
  }
};

}  // namespace graphrun
