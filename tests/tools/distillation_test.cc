// A student learns from its teacher's translations, as graphs/jobs/README.md shows: a translator is trained and translates its
// training data, and a Transformer with an SSRU decoder learns from what it wrote.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

constexpr const char* kDistilledData = R"x(
data {
  train: ["../../data/left", "../../data/RIGHT"]
  format: PARALLEL
  field { name: "left"  column: 0 split: SPACE }
  field { name: "right" column: 1 split: SPACE }
  feed: "source = [left, '</s>'], source_lengths = length([left, '</s>'])"
  feed: "previous = ['<s>', right], target = [right, '</s>'], target_lengths = length([right, '</s>'])"
  batch { rows: 8 bucket_by: "left" }
}
report: "bleu = bleu(right, say, tokenize='none')"
infer { name: "say" write: TEXT field: "right"
        generate { scan: "decode" feed: "y" score: "logits" begin: "<s>" end: "</s>" beam: 3 max_length: "source_time + 2" } }
arg: "source_vocabulary = vocabulary(left), target_vocabulary = vocabulary(right)"
train {
  minimize: "sum(nll)" per: "sum(target_lengths)"
  optimizer { adam { learning_rate: 0.005 } }  clip { global_norm: 5 }
  epochs: 60
}
)x";

constexpr const char* kTeacher = R"x(
graph: "translator.pbtxt"
arg: "embed = 12, hidden = 16"
)x";

constexpr const char* kStudent = R"x(
graph: "transformer.pbtxt"
arg: "recurrent = true, width = 16, inner = 24, heads = 2, depth = 1, decoder_depth = 2, dropout = 0, label_smoothing = 0"
)x";

class Distillation : public ProgramTest {
 protected:
  // `right`: the file of translations to learn from.
  void train(const std::string& name, const std::string& network, const std::string& right) {
    std::string job = network + std::string(kDistilledData);
    const std::string place = "RIGHT";
    write("graphs/jobs/" + name + ".pbtxt", job.replace(job.find(place), place.size(), right));
    const Ran trained = graphrun({"train", "graphs/jobs/" + name + ".pbtxt", "--out", name, "--quiet"});
    ASSERT_EQ(trained.code, 0) << trained.err;
  }
  double bleu(const std::string& model, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> words = {"evaluate", model, "--json", "--data", "data/left", "data/translated"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? nlohmann::json::parse(ran.out)["bleu"].get<double>() : 0;
  }
};

TEST_F(Distillation, TeachesAStudentWhatTheTeacherSays) {
  write_word_pairs(60, 1, 4);
  train("teacher", kTeacher, "right");
  const Ran said = graphrun({"infer", "teacher", "data/left"});
  ASSERT_EQ(said.code, 0) << said.err;
  write("data/translated", said.out);
  train("student", kStudent, "translated");
  EXPECT_GT(bleu("teacher"), 99);  // against itself
  const double exact = bleu("student");
  EXPECT_GT(exact, 90);
  EXPECT_NEAR(bleu("student", {"--weights", "int8"}), exact, 5);
  EXPECT_GT(bleu("student", {"--set", "infer.say.generate.beam=1"}), 90);
}

}  // namespace
}  // namespace graphrun
