#include "tools/job/job.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/scratch.h"
#include "tools/job/field_paths.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kShortJob = R"job(# proto-message: graphrun.Job
graph: "tagger.pbtxt"
arg: "cell = cells/atr.pbtxt, hidden = 300, labels = vocabulary( tags ) + 1"
arg: "encoder = encoders/gnmt.pbtxt(depth = 8, width = vocabulary(characters))"
data {
  train: "data/train.seg" valid: ["/abs/dev.seg", "b.seg"]
  format: SEGMENTED
  field { name: "characters" split: CHARACTER vocabulary { min_count: 1 } }
  field { name: "tags" derive: BMES vocabulary { closed: true } }
  feed: "words = characters, tags, lengths = length(characters)"
  batch { rows: 128 bucket_by: "characters" }
}
train {
  minimize: "loss"
  initialize { match: "*" uniform: 0.08 }
  optimizer { adam { learning_rate: 5e-4 } } clip { global_norm: 1 }
  schedule { per_epoch { factor: 0.5 from: 40 } }
  validate { every_epochs: 1 keep_highest: "f1" } epochs: 50
}
report: "loss = sum(margin) / count(rows), f1 = segmentation(tags, path, lengths=lengths)"
infer { name: "segment" read: LINES write: SEGMENTED from: "path" }
)job";

LoadedJob job_with(const std::vector<std::string>& sets) { return parse_job(kShortJob, "jobs/segment.pbtxt", sets); }

std::string mistakes(const std::string& text, const std::vector<std::string>& sets = {}) {
  return message_of([&] { parse_job(text, "job.pbtxt", sets); });
}

// The job with one part replaced.
std::string changed(const std::string& part, const std::string& by) {
  std::string text = kShortJob;
  const std::size_t at = text.find(part);
  if (at == std::string::npos) throw std::runtime_error("no '" + part + "' in the job");
  return text.replace(at, part.size(), by);
}

TEST(Job, BecomesPlainStructs) {
  const LoadedJob job = job_with({});
  EXPECT_EQ(job.folder, "jobs");
  EXPECT_THAT(job.data.train, ElementsAre("jobs/data/train.seg"));
  EXPECT_THAT(job.data.valid, ElementsAre("/abs/dev.seg", "jobs/b.seg"));
  EXPECT_EQ(job.data.rows, 128);
  ASSERT_EQ(job.data.fields.size(), 2u);
  EXPECT_EQ(job.data.fields[1].derive, Derive::kBmes);
  EXPECT_TRUE(job.data.fields[1].vocabulary.closed);
  EXPECT_EQ(job.plan->feeds().size(), 3u);
  EXPECT_EQ(job.plan->feed("lengths")->depth, 0);
  ASSERT_EQ(job.infer.size(), 1u);
  EXPECT_EQ(job.infer[0].write, WriteAs::kSegmented);
  EXPECT_EQ(job.infer[0].field, "tags");
  EXPECT_EQ(job.infer[0].weights, WeightForm::kFloat32);
  EXPECT_EQ(job_with({"infer.weights=INT8"}).infer[0].weights, WeightForm::kInt8);
  EXPECT_EQ(job_with({"infer.weights=BFLOAT16"}).infer[0].weights, WeightForm::kBFloat16);
  EXPECT_EQ(job.infer_named("")->name, "segment");
  EXPECT_EQ(job.infer_named("other"), nullptr);
  EXPECT_TRUE(job.warnings.empty());
  require_training(job);
}

TEST(Job, ArgumentsKnowTheSizesOfVocabularies) {
  Vocabularies vocabularies;
  vocabularies.emplace("tags", Vocabulary({"B", "M", "E", "S"}, true, "tags"));
  vocabularies.emplace("characters", Vocabulary({"<unk>", "a"}, false, "characters"));
  const auto bindings = job_with({"hidden=7"}).arguments(vocabularies);
  ASSERT_EQ(bindings.size(), 4u);
  EXPECT_EQ(bindings[0].name, "cell");
  EXPECT_EQ(bindings[0].text, "cells/atr.pbtxt");
  EXPECT_EQ(bindings[0].at.str(), "jobs/segment.pbtxt:3:14");
  EXPECT_EQ(bindings[1].text, "7");
  EXPECT_EQ(bindings[1].at.str(), "--set:1:8");
  EXPECT_EQ(bindings[2].text, "4 + 1");
  EXPECT_EQ(bindings[3].text, "encoders/gnmt.pbtxt(depth = 8, width = 2)");
}

TEST(Set, ReachesEveryKindOfField) {
  const LoadedJob job =
      job_with({"train.epochs=3", "train.optimizer.sgd.learning_rate=0.5", "data.format=SEGMENTED",
                "data.field.tags.vocabulary.closed=false", "data.field.characters.vocabulary.special=<s>,</s>",
                "train.seed=18446744073709551615", "data.batch.bucket_by=", "train.initialize.0.normal=0.01",
                "train.checkpoint.every_steps=100", "report=loss = sum(margin) / count(rows), f1 = mean(nll, lengths=lengths)",
                "cell=cells/lstm.pbtxt", "embed=64", "train.clip.global_norm=1e1"});
  const Job& m = job.message;
  EXPECT_EQ(m.train().epochs(), 3);
  EXPECT_TRUE(m.train().optimizer().has_sgd());
  EXPECT_DOUBLE_EQ(m.train().optimizer().sgd().learning_rate(), 0.5);
  EXPECT_FALSE(m.data().field(1).vocabulary().closed());
  EXPECT_THAT(job.data.fields[0].vocabulary.special, ElementsAre("<s>", "</s>"));
  EXPECT_EQ(m.train().seed(), 18446744073709551615u);
  EXPECT_EQ(job.data.bucket_by, "");
  EXPECT_DOUBLE_EQ(m.train().initialize(0).normal(), 0.01);
  EXPECT_EQ(m.train().checkpoint().every_steps(), 100);
  EXPECT_EQ(job.report.size(), 2u);
  EXPECT_DOUBLE_EQ(m.train().clip().global_norm(), 10);
  const std::vector<std::string> args(m.arg().begin(), m.arg().end());
  EXPECT_THAT(args, ElementsAre("cell = cells/lstm.pbtxt", "hidden = 300", "labels = vocabulary( tags ) + 1",
                                "encoder = encoders/gnmt.pbtxt(depth = 8, width = vocabulary(characters))", "embed = 64"));
}

// If a repeated message occurs once, its number may be omitted.
TEST(Set, GoesIntoTheOnlyOneOfARepeatedMessage) {
  EXPECT_DOUBLE_EQ(job_with({"train.initialize.normal=0.02"}).message.train().initialize(0).normal(), 0.02);
  const std::string all = mistakes(kShortJob, {"train.initialize.nromal=0.02", "train.initialize=2"});
  EXPECT_THAT(all, HasSubstr("--set:1:18: error[E0404 unknown-field]: Initialize has no field 'nromal'"));
  EXPECT_THAT(all, HasSubstr("did you mean 'normal'?"));
  EXPECT_THAT(all, HasSubstr("there is 1 'initialize'"));
}

TEST(Set, FilesStartWhereTheProgramRuns) {
  const LoadedJob job = job_with({"data.train=a.seg, b.seg", "data.test="});
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(job.data.train, ElementsAre(here + "/a.seg", here + "/b.seg"));
  EXPECT_TRUE(job.data.test.empty());
}

TEST(Set, MistakesAreShownInTheArgument) {
  const std::string all =
      mistakes(kShortJob, {"train.epoch=3", "train.epochs=three", "data.field.tag.column=1", "data.format=SEGMENT",
                           "trian.epochs=3", "train=3", "train.epochs.x=3", "data.field=1", "nonsense",
                           "data.field.tags.vocabulary.closed=yes", "train.seed=-1", "train.clip.global_norm=inf"});
  EXPECT_THAT(all, HasSubstr("--set:1:7: error[E0404 unknown-field]: Train has no field 'epoch'"));
  EXPECT_THAT(all, HasSubstr("did you mean 'epochs'?"));
  EXPECT_THAT(all, HasSubstr("  1 | train.epoch=3\n    |       ^~~~~\n"));
  EXPECT_THAT(all, HasSubstr("--set:2:14: error[E0402 wrong-value]: epochs is 'three'; expected a whole number"));
  EXPECT_THAT(all, HasSubstr("--set:3:12: error[E0404 unknown-field]: no field 'tag'"));
  EXPECT_THAT(all, HasSubstr("did you mean 'tags'?"));
  EXPECT_THAT(all, HasSubstr("format is 'SEGMENT'; expected LINES, CONLL"));
  EXPECT_THAT(all, HasSubstr("Job has no field 'trian'"));
  EXPECT_THAT(all, HasSubstr("'train' is a message"));
  EXPECT_THAT(all, HasSubstr("--set:7:14: error[E0404 unknown-field]: 'epochs' is a value of its own"));
  EXPECT_THAT(all, HasSubstr("there are 2 'field'"));
  EXPECT_THAT(all, HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(all, HasSubstr("closed is 'yes'; expected true or false"));
  EXPECT_THAT(all, HasSubstr("seed is '-1'; expected a whole number, not negative"));
  EXPECT_THAT(all, HasSubstr("global_norm is 'inf'; expected a number"));
}

TEST(Set, WhatItSaysIsCheckedLikeTheFile) {
  const std::string all = mistakes(kShortJob, {"data.batch.rows=0", "report=f1 = mean(nll", "train.validate.keep_highest=f2"});
  EXPECT_THAT(all, HasSubstr("--set:1:17: error[E0411 bad-setting]: batches of 0 rows"));
  EXPECT_THAT(all, HasSubstr("--set:2:"));
  EXPECT_THAT(all, HasSubstr("--set:3:29: error[E0412 unknown-name]: no report 'f2'"));
}

TEST(Job, TextOfTheMergedJobReadsBack) {
  const LoadedJob job = job_with({"train.epochs=3", "cell=cells/lstm.pbtxt"});
  const std::string text = dump_job(job);
  const LoadedJob again = parse_job(text, "jobs/other.pbtxt");
  EXPECT_EQ(again.message.SerializeAsString(), job.message.SerializeAsString());
  const LoadedJob moved = parse_job(dump_job(job, true), "/elsewhere/job.pbtxt");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(moved.data.train, ElementsAre(here + "/jobs/data/train.seg"));
  EXPECT_EQ(moved.message.train().epochs(), 3);
}

TEST(Job, AllMistakesAtOnceWithTheirPlaces) {
  const std::string all = mistakes(R"job(
arg: "hidden = vocabulary(word)"
data {
  format: CONLL
  field { name: "words" column: -1 }
  field { name: "words" derive: BMES }
  field { name: "two words" }
  feed: "words = wrds"
  batch { rows: 0 bucket_by: "tags" window: 3 }
}
train {
  epochs: -1
  initialize { uniform: 1 }
  initialize { match: "*" }
  optimizer { }
  clip { global_norm: -1 }
  schedule { no_improvement { factor: 4 } }
  validate { keep_highest: "f1" keep_lowest: "loss" }
}
report: "loss = nll"
infer { write: CONLL }
)job");
  for (const char* part : {"the job has no graph",
                           "job.pbtxt:2:27: error[E0412 unknown-name]: no field 'word'",
                           "column -1",
                           "a second field 'words'",
                           "BMES is derived only from SEGMENTED data",
                           "field named 'two words'",
                           "no field 'wrds'",
                           "batches of 0 rows",
                           "no field 'tags'",
                           "only a STREAM has a window",
                           "-1 epochs",
                           "initialize without match",
                           "initialize without a kind",
                           "an optimizer without a kind",
                           "global_norm is -1",
                           "factor is 4",
                           "validate needs data",
                           "one checkpoint is kept",
                           "no report 'f1'",
                           "'nll' is outside of sum",
                           "infer without a name",
                           "has no value to write",
                           "CONLL adds a column",
                           "does not name the field whose entries it writes"})
    EXPECT_THAT(all, HasSubstr(part));
}

TEST(Job, RulesOfFormats) {
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: STREAM")), HasSubstr("a STREAM needs a window"));
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: STREAM")), HasSubstr("it has no examples to group"));
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: PARALLEL"), {"data.field.tags.column=2"}),
              HasSubstr("job.pbtxt:6:10: error[E0411 bad-setting]: 1 file, in groups of 3 parallel files"));
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: LINES end_of_line: \"x\"")),
              HasSubstr("only a STREAM has an end_of_line"));
  EXPECT_THAT(mistakes(changed("split: CHARACTER", "")), HasSubstr("field 'characters' needs a split"));
  EXPECT_THAT(mistakes(changed("split: CHARACTER", "split: BPE")), HasSubstr("is split into subwords: how many?"));
  EXPECT_THAT(mistakes(changed("split: CHARACTER", "split: [BPE, SPACE]")), HasSubstr("a subword can't be split any further"));
  EXPECT_THAT(mistakes(changed("split: CHARACTER", "split: CHARACTER column: 1")),
              HasSubstr("only CONLL, TSV and PARALLEL have columns"));
  EXPECT_THAT(mistakes(changed("min_count: 1", "min_count: 1 file: \"v.txt\"")),
              HasSubstr("a vocabulary from a file is used unchanged"));
  EXPECT_THAT(mistakes(changed("read: LINES", "read: TSV")),
              HasSubstr("only the fields of TSV and PARALLEL data can be read from TSV"));
  EXPECT_THAT(mistakes(changed("read: LINES", "read: STREAM")), HasSubstr("inference reads LINES, CONLL, TSV or JSONL"));
  EXPECT_THAT(mistakes(changed("read: LINES", "read: CONLL")), HasSubstr("only the fields of CONLL data"));
  EXPECT_THAT(mistakes(changed("uniform: 0.08", "vectors: \"glove.txt\"")), HasSubstr("vectors of which words?"));
}

TEST(Job, RulesOfSplits) {
  const auto split = [](const char* splits, const char* more = "") {
    return mistakes(changed("split: CHARACTER", std::string("split: ") + splits + more));
  };
  EXPECT_EQ(split("[SPACE, CHARACTER]"), "");
  EXPECT_THAT(split("[CHARACTER, SPACE]"), HasSubstr("a character can't be split any further"));
  EXPECT_THAT(split("[SPACE, SPACE]"), HasSubstr("a word has no white space"));
  EXPECT_THAT(split("[NONE, SPACE]"), HasSubstr("NONE together with other splits"));
  EXPECT_THAT(split("[LIST, CHARACTER]"), HasSubstr("only JSONL has lists"));
  EXPECT_THAT(split("CHARACTER", " key: \"text\""), HasSubstr("only JSONL has keys"));
  const std::string conll = changed("format: SEGMENTED", "format: CONLL");
  EXPECT_THAT(mistakes(conll, {"data.field.characters.split=SPACE,CHARACTER"}),
              HasSubstr("the splits make 3 sequence dimensions, the tokens of a sentence being one; at most 2"));
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: JSONL"), {"data.field.characters.split=SPACE,LIST"}),
              HasSubstr("a text has no list in it: LIST comes first"));
}

TEST(Job, SharedVocabularies) {
  const std::string shared =
      changed("derive: BMES vocabulary { closed: true }", "split: CHARACTER vocabulary { share: \"characters\" }");
  const std::vector<std::string> written = {"infer.segment.field=tags"};
  EXPECT_EQ(mistakes(shared, written), "");
  EXPECT_EQ(parse_job(shared, "job.pbtxt", written).data.fields[1].vocabulary.min_count, 1);
  EXPECT_THAT(mistakes(shared, {"data.field.tags.vocabulary.share=character"}), HasSubstr("did you mean 'characters'?"));
  EXPECT_THAT(mistakes(shared, {"data.field.tags.vocabulary.share=tags"}),
              HasSubstr("no field with a vocabulary of its own 'tags'"));
  EXPECT_THAT(mistakes(shared, {"data.field.tags.vocabulary.size=3"}),
              HasSubstr("defines the shared vocabulary; expected no other setting"));
}

TEST(Job, BatchesByTokens) {
  EXPECT_EQ(mistakes(changed("rows: 128", "tokens: 4000")), "");
  EXPECT_THAT(mistakes(changed("rows: 128 bucket_by: \"characters\"", "tokens: 4000")), HasSubstr("tokens of which field?"));
  EXPECT_THAT(mistakes(changed("rows: 128", "tokens: -1")), HasSubstr("a negative number of tokens"));
  EXPECT_THAT(mistakes(changed("format: SEGMENTED", "format: STREAM"), {"data.batch.tokens=5"}),
              HasSubstr("a batch of a STREAM has rows times window tokens"));
}

TEST(Job, WhatTrainingNeeds) {
  LoadedJob job = parse_job(changed("minimize: \"loss\"", ""), "job.pbtxt", {"train.epochs=0", "data.train="});
  const std::string all = message_of([&] { require_training(job); });
  EXPECT_THAT(all, HasSubstr("train has no objective"));
  EXPECT_THAT(all, HasSubstr("0 epochs; expected 1 or more"));
  EXPECT_THAT(all, HasSubstr("no files to train on"));
  EXPECT_THAT(all, Not(HasSubstr("no optimizer")));
}

TEST(Job, FieldPathsEndInAName) {
  const LoadedJob job = parse_job(kShortJob, "job.pbtxt", {"train.optimizer.adam.learning_rate=1"});
  EXPECT_THAT(field_paths(job.message, "learning_rate"), ElementsAre("train.optimizer.adam.learning_rate"));
  EXPECT_THAT(field_paths(job.message, "adam.learning_rate"), ElementsAre("train.optimizer.adam.learning_rate"));
  EXPECT_THAT(field_paths(job.message, "bucket_by"), ElementsAre("data.batch.bucket_by"));
  EXPECT_THAT(field_paths(job.message, "train"), ElementsAre("data.train"));  // no message
  EXPECT_THAT(field_paths(job.message, "by"), IsEmpty());                     // half a name
  for (const std::string& path : field_paths(job.message, "min_count"))
    EXPECT_EQ(mistakes(kShortJob, {path + "=1"}), "") << path;
  EXPECT_EQ(field_paths(Job(), "learning_rate").size(), 8u);  // one for each optimizer
}

TEST(Job, AWrongSettingLeavesTheJobAsItWas) {
  const std::string all = mistakes(kShortJob, {"train.optimizer.rmsprop.learning_rate=x", "train.clip.global_norm=-1"});
  EXPECT_THAT(all, HasSubstr("learning_rate is 'x'; expected a number"));
  EXPECT_THAT(all, HasSubstr("global_norm is -1"));
  EXPECT_THAT(all, Not(HasSubstr("learning_rate is 0")));
  EXPECT_THAT(all, Not(HasSubstr("no learning_rate")));
}

TEST(Job, AFieldThatNothingReadsIsAWarning) {
  const LoadedJob job = parse_job(changed("tags, lengths", "lengths"), "job.pbtxt", {"infer.segment.field=characters"});
  ASSERT_EQ(job.warnings.size(), 1u);
  EXPECT_THAT(render(job.warnings[0]), HasSubstr("warning[E0421 unused-field]: no feed reads field 'tags'"));
}

TEST(Job, ShippedJobsLoad) {
  int jobs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + "/graphs/jobs")) {
    if (entry.path().extension() != ".pbtxt") continue;
    ++jobs;
    EXPECT_EQ(message_of([&] {
                const LoadedJob job = load_job(entry.path().string());
                if (job.load.empty()) require_training(job);
                EXPECT_TRUE(job.warnings.empty()) << entry.path();
              }),
              "");
  }
  EXPECT_GE(jobs, 8);
}

}  // namespace
}  // namespace graphrun
