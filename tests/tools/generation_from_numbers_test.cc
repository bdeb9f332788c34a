// Words generated from numbers: a network that describes pictures, given their features, trained and run by the program.
#include <gmock/gmock.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::HasSubstr;

class GenerationFromNumbers : public ProgramTest {};

constexpr const char* kCaption = R"text(name: "caption"
import: "cell = cells/gru.pbtxt"
arg { name: "vocabulary" }
input { name: "picture"  shape: "[5, batch]" }
input { name: ["previous", "target"] shape: "[time, batch]" type: INT32 below: "vocabulary" }
input { name: "lengths"  shape: "[batch]" type: INT32 lengths_of: "time" }
parameter { name: "E" shape: "[vocabulary, 16]" }
parameter { name: "B" shape: "[5, 16]" }
parameter { name: "P" shape: "[16, vocabulary]" }
let: "seen = tanh(transpose(picture) @ B)"
scan { name: "say" graph: "cell" arg: "hidden = 16" each: "x = gather(E, previous)" lengths: "lengths" begin: "h = seen" }
let: "logits = say.h @ P"
let: "nll = cross_entropy(logits, target)"
output: "logits, loss = mean(sum(nll, axis=0, lengths=lengths))"
)text";
constexpr const char* kCaptions = R"text(# proto-message: graphrun.Job
graph: "caption.pbtxt"
arg: "vocabulary = vocabulary(text)"
data {
  train: "pictures.tsv" valid: "pictures.tsv" format: TSV
  field { name: "picture" column: 0 type: FLOAT split: SPACE }
  field { name: "text"    column: 1 split: SPACE }
  feed: "picture, previous = ['<s>', text], target = [text, '</s>'], lengths = length([text, '</s>'])"
  batch { rows: 6 bucket_by: "text" }
}
train { minimize: "loss" optimizer { adam { learning_rate: 2e-2 } } epochs: 60
        validate { every_epochs: 60 keep_highest: "right" samples: 1 } }
report: "right = exact_match(text, say)"
infer { name: "say" read: TSV write: TEXT field: "text"
        generate { scan: "say" feed: "x" score: "logits" begin: "<s>" end: "</s>" beam: 2 max_length: "5" } }
)text";

TEST_F(GenerationFromNumbers, DescribesPictures) {
  std::string pictures;
  const char* const colors[] = {"red", "green", "blue"};
  for (const int size : {0, 1})
    for (int color = 0; color < 3; ++color)
      pictures += std::to_string(color == 0) + " " + std::to_string(color == 1) + " " + std::to_string(color == 2) + " " +
                  (size ? "0.5" : "-0.5") + " 1\t" + (size ? "large " : "small ") + colors[color] + "\n";
  write("pictures.tsv", pictures);
  write("caption.pbtxt", kCaption);
  write("captions.pbtxt", kCaptions);
  const Ran trained = graphrun({"train", "captions.pbtxt", "--out", "model", "--threads", "1"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("sample 1  picture: 1 0 0 -0.5 1"));
  EXPECT_THAT(read("model/metrics.jsonl"), HasSubstr("\"valid\":{\"right\":100.0}"));
  EXPECT_EQ(graphrun({"infer", "model"}, "0 1 0 0.5 1\n\n0.9 0 0.1 -0.6 1\n").out, "large green\n\nsmall red\n");
}

}  // namespace
}  // namespace graphrun
