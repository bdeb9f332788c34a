// The report of a segmenter's real output, compared with the figures of the reference program, which aligns words with diff.
// The text is from Universal Dependencies (UD Chinese GSD, CC BY-SA 4.0).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/folders.h"
#include "tests/tools/data_helpers.h"
#include "tools/data/batch.h"
#include "tools/report/report.h"

namespace graphrun {
namespace {

TEST(Segmentation, RealOutputIsScoredAsTheReferenceDoes) {
  DataSpec data;
  data.format = Format::kSegmented;
  data.fields = {make_field("characters", 0, {Split::kCharacter}), make_field("tags", 0, {}, Derive::kBmes),
                 make_field("lexicon", 0, {Split::kSpace})};
  data.fields[2].vocabulary_file = tests::reference("words_known.txt");
  data.feeds = make_feeds("characters, tags, lexicon, lengths = length(characters)");
  data.train = {tests::reference("words_gold.txt")};
  const Prepared p(data);
  const Dataset gold = p.train();
  const Dataset predicted = read_dataset(p.data, p.vocabularies, {tests::reference("words_predicted.txt")});
  ASSERT_EQ(gold.size(), predicted.size());

  std::vector<Diagnostic> problems;
  Report report(ir::parse_bindings(
                    ir::SourceText("f1 = segmentation(tags, path, lengths=lengths, characters=characters, known=lexicon)")),
                problems);
  report.bind([&](const std::string& feed) { return feed == "lengths" ? nullptr : &p.vocabularies.at(feed); });
  const std::vector<std::size_t> chosen = choose_feeds(p.plan, {});
  for (std::int64_t i = 0; i < gold.size(); i += 7) {
    std::vector<std::vector<Nested>> read, found;
    for (std::int64_t j = i; j < std::min(i + 7, gold.size()); ++j) {
      read.push_back(gold.example(j));
      found.push_back(predicted.example(j));
    }
    Batch batch = make_batch(p.plan, chosen, read);
    batch.feeds["path"] = make_batch(p.plan, chosen, found).feeds.at("tags");
    report.add({batch.feeds, batch.rows});
  }
  std::ifstream in(tests::reference("expected.json"));
  const auto want = nlohmann::json::parse(in).at("words");
  const double all = want["gold"], cut = want["predicted"], correct = want["correct"], unknown = want["unknown"],
               unknown_found = want["unknown_found"];
  EXPECT_DOUBLE_EQ(report.result("f1.recall"), correct / all);
  EXPECT_DOUBLE_EQ(report.result("f1.precision"), correct / cut);
  EXPECT_DOUBLE_EQ(report.result("f1"), 2 * correct / (all + cut));
  EXPECT_DOUBLE_EQ(report.result("f1.oov_rate"), unknown / all);
  EXPECT_DOUBLE_EQ(report.result("f1.oov_recall"), unknown_found / unknown);
  EXPECT_DOUBLE_EQ(report.result("f1.iv_recall"), (correct - unknown_found) / (all - unknown));
}

}  // namespace
}  // namespace graphrun
