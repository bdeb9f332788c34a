// graphrun data: counts of a job's data, and a batch as the graph receives it.
#include <gmock/gmock.h>

#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class DataCommand : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    write("pairs.tsv", "der Hund\tthe dog\tyes\nja\tyes yes yes\tno\n\nein Tor\ta a a a a a\tno\n");
    write("pairs.pbtxt", R"job(graph: "classifier.pbtxt"
data {
  train: "pairs.tsv" valid: "pairs.tsv"
  format: TSV
  field { name: "german" column: 0 split: SPACE }
  field { name: "english" column: 1 split: SPACE longest: 5 vocabulary { min_count: 2 } }
  field { name: "letters" column: 0 split: [SPACE, CHARACTER] }
  field { name: "label" column: 2 vocabulary { closed: true } }
  feed: "german, english = [english, '</s>'], letters, word_lengths = length(letters), label, lengths = length(german)"
  batch { tokens: 8 bucket_by: "german" }
}
)job");
  }
};

TEST_F(DataCommand, ShowsCountsAndABatch) {
  const Ran ran = graphrun({"data", "pairs.pbtxt", "--split", "valid"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out,
            "valid: pairs.tsv\n"
            "3 examples, 1 empty one left out\n"
            "field         entries    unknown   longest  too long  vocabulary\n"
            "german              5     0.00 %         2         0           6\n"
            "english            11    18.18 %         6         0           4\n"
            "letters            15     0.00 %         2         0          12\n"
            "label               3          –         1         0           2\n"
            "\n"
            "batch 1 of 1: 3 rows, 5 tokens, 16.7 % padding\n"
            "\n"
            "german  INT32[2, 3]  entries of 'german', below 6\n"
            "    0  ja/5  ·\n"
            "    1  der/3  Hund/1\n"
            "    2  ein/4  Tor/2\n"
            "\n"
            "english  INT32[7, 3]  entries of 'english', below 4\n"
            "    0  yes/3  yes/3  yes/3  </s>/0  · × 3\n"
            "    1  <unk>/1  <unk>/1  </s>/0  · × 4\n"
            "    2  a/2  a/2  a/2  a/2  a/2  a/2  </s>/0\n"
            "\n"
            "letters  INT32[2, 4, 3]  entries of 'letters', below 12\n"
            "    0  [j/9 a/7 · × 2]  ·\n"
            "    1  [d/1 e/2 r/4 ·]  [H/5 u/11 n/3 d/1]\n"
            "    2  [e/2 i/8 n/3 ·]  [T/6 o/10 r/4 ·]\n"
            "\n"
            "word_lengths  INT32[2, 3]  lengths\n"
            "    0  2  ·\n"
            "    1  3  4\n"
            "    2  3  3\n"
            "\n"
            "label  INT32[3]  entries of 'label', below 2\n"
            "    0  no/0\n"
            "    1  yes/1\n"
            "    2  no/0\n"
            "\n"
            "lengths  INT32[3]  lengths\n"
            "    0  1\n"
            "    1  2\n"
            "    2  2\n");
}

TEST_F(DataCommand, TrainingLeavesOutWhatIsTooLong) {
  const Ran ran = graphrun({"data", "pairs.pbtxt", "--rows", "1", "--steps", "1", "--set", "data.batch.tokens=1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2 examples, 1 empty one left out, 1 too long and left out\n"),
                             HasSubstr("1 longer than batch.tokens, each in a batch of its own\n"),
                             HasSubstr("batch 1 of 2 in epoch 1: 1 rows"), HasSubstr("… 3 more")));
}

TEST_F(DataCommand, Mistakes) {
  EXPECT_THAT(graphrun({"data", "pairs.pbtxt", "--split", "text"}).err, HasSubstr("--split takes train, valid or test"));
  EXPECT_THAT(graphrun({"data", "pairs.pbtxt", "--split", "test"}).err, HasSubstr("the job names no test data"));
  EXPECT_THAT(graphrun({"data", "pairs.pbtxt", "--batch", "9"}).err, HasSubstr("--batch 9: the epoch has 1 batches"));
  const Ran ran = graphrun({"data", "pairs.pbtxt", "--set", "data.train=none.tsv"});
  EXPECT_EQ(ran.code, 4);
  EXPECT_THAT(ran.err, HasSubstr("cannot open '"));
}

}  // namespace
}  // namespace graphrun
