#include "tools/report/report.h"
#include "tests/folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/tools/scratch.h"
#include "tools/report/spans.h"
#include "tools/text/lines.h"

namespace graphrun {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Report make_report(const std::string& text) {
  std::vector<Diagnostic> problems;
  Report report(ir::parse_bindings(ir::SourceText(text)), problems);
  if (!problems.empty()) throw UserError(ExitCode::kInvalidGraph, problems);
  return report;
}

BatchValues values(std::map<std::string, Tensor> tensors, std::int64_t rows) { return {std::move(tensors), rows}; }

TEST(Report, FormulasAreOverTheWholeSet) {
  Report report = make_report("perplexity = exp(mean(nll)), loss = sum(margin) / count(rows), two = exp(sum(nll) / sum(n))");
  report.add(values(
      {{"nll", Tensor::of<float>({2, 1}, {1, 2})}, {"margin", Tensor::of<float>({1}, {3})}, {"n", Tensor::of<int>({1}, {2})}},
      1));
  report.add(values({{"nll", Tensor::of<float>({1, 2}, {3, 6})},
                     {"margin", Tensor::of<float>({2}, {4, 5})},
                     {"n", Tensor::of<int>({2}, {1, 3})}},
                    2));
  EXPECT_THAT(report.result_names(), ElementsAre("perplexity", "loss", "two"));
  EXPECT_DOUBLE_EQ(report.result("perplexity"), std::exp(3.0));
  EXPECT_DOUBLE_EQ(report.result("loss"), 4.0);
  EXPECT_DOUBLE_EQ(report.result("two"), std::exp(2.0));
  report.clear();
  report.add(values(
      {{"nll", Tensor::of<float>({1, 1}, {0})}, {"margin", Tensor::of<float>({1}, {3})}, {"n", Tensor::of<int>({1}, {2})}}, 1));
  EXPECT_DOUBLE_EQ(report.result("perplexity"), 1.0);
}

TEST(Report, LengthsMaskPadding) {
  Report report = make_report(
      "a = mean(x, lengths=n), b = sum(x), c = count(x, lengths=n), d = mean(x == y, lengths=n), e = sum(v, lengths=n)");
  const auto x = Tensor::of<float>({2, 2}, {1, 2, 3, 100});
  report.add(values({{"x", x},
                     {"y", Tensor::of<float>({2, 2}, {1, 0, 0, 100})},
                     {"v", Tensor::of<float>({2, 2, 2}, {1, 1, 2, 2, 3, 3, 100, 100})},
                     {"n", Tensor::of<int>({2}, {2, 1})}},
                    2));
  EXPECT_DOUBLE_EQ(report.result("a"), 2.0);
  EXPECT_DOUBLE_EQ(report.result("b"), 106.0);
  EXPECT_DOUBLE_EQ(report.result("c"), 3.0);
  EXPECT_DOUBLE_EQ(report.result("d"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.result("e"), 12.0);
}

TEST(Report, InnerLengthsMaskInnerTime) {
  Report report = make_report("a = sum(x, lengths=n)");
  // [time 2, letters 2, batch 1], word 0 has 2 letters, word 1 has 1
  report.add(values({{"x", Tensor::of<float>({2, 2, 1}, {1, 2, 4, 8})}, {"n", Tensor::of<int>({2, 1}, {2, 1})}}, 1));
  EXPECT_DOUBLE_EQ(report.result("a"), 7.0);
}

TEST(Report, SumsAreGatheredInDouble) {
  Report report = make_report("a = sum(x)");
  for (int i = 0; i < 1000; ++i) report.add(values({{"x", Tensor::of<float>({2}, {16777216.0f, 1.0f})}}, 2));
  EXPECT_DOUBLE_EQ(report.result("a"), 1000.0 * 16777217.0);
}

// Differences of large sums would be nothing but rounding if the sums were single doubles.
TEST(Report, SpreadsOfValuesFarFromZero) {
  const std::vector<float> x = {0.25f, 1.5f, 0.75f, 2.0f, 1.0f}, y = {0.5f, 1.0f, 1.25f, 1.75f, 0.25f};
  const auto of = [&](const std::string& formula) {
    Report report = make_report("r = " + formula);
    for (int i = 0; i < 200; ++i) report.add(values({{"x", Tensor::of<float>({5}, x)}, {"y", Tensor::of<float>({5}, y)}}, 5));
    Report continued = make_report("r = " + formula);
    continued.restore(nlohmann::json::parse(report.state().dump()));
    EXPECT_EQ(continued.state(), report.state()) << formula;
    return continued.result("r");
  };
  const double deviation = std::sqrt(0.365), correlation = 1.0875 / std::sqrt(1.825 * 1.425);  // of the five
  EXPECT_NEAR(of("deviation(x)"), deviation, 1e-15);
  EXPECT_NEAR(of("correlation(x, y)"), correlation, 1e-15);
  EXPECT_TRUE(std::isnan(of("correlation(x * 0 + 0.7, y)")));
  EXPECT_TRUE(std::isnan(of("correlation(x * 0 + 0.7, x * 0 + 0.7)")));
  EXPECT_NEAR(of("correlation(x + 1e8, y)"), correlation, 1e-12);
  EXPECT_NEAR(of("deviation(x + 1e6)"), deviation, 1e-12);
  EXPECT_NEAR(of("deviation(x + 1e8)"), deviation, 1e-12);
  EXPECT_EQ(of("deviation(x * 0 + 0.7)"), 0);
  EXPECT_TRUE(std::isnan(of("deviation(log(0 - y))")));
}

TEST(Report, MistakesAreFoundTogether) {
  std::vector<Diagnostic> problems;
  Report report(
      ir::parse_bindings(ir::SourceText("a = nll, b = sum(x, lenghts=n), c = rouge(x, y), sum(x), d = accuracy(x), "
                                        "e = spans(x, y + 1), f = mean(1), f2 = mean(x), f2 = mean(y), g = exp(sum(x), 2)")),
      problems);
  std::string all;
  for (const Diagnostic& d : problems) all += render(d) + "\n";
  EXPECT_EQ(problems.size(), 9u) << all;
  EXPECT_THAT(all, HasSubstr("'nll' is outside of sum, mean and count"));
  EXPECT_THAT(all, HasSubstr("sum has no 'lenghts'"));
  EXPECT_THAT(all, HasSubstr("'rouge' is not known to reports"));
  EXPECT_THAT(all, HasSubstr("a second report 'f2'"));
}

TEST(Report, UnknownNamesAndShapesThatDoNotFit) {
  Report report = make_report("a = mean(nil), b = sum(x + y), c = count(rows)");
  std::vector<Diagnostic> problems;
  report.check_names({"nll", "x", "y"}, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(render(problems[0]), HasSubstr("did you mean 'nll'?"));
  EXPECT_THAT(message_of([&] {
                make_report("a = mean(loss)").add(values({{"loss", Tensor::of<float>({}, {1})}}, 1));
              }),
              HasSubstr("mean of means"));
  EXPECT_THAT(message_of([&] {
                make_report("a = sum(x + y)")
                    .add(values({{"x", Tensor::of<float>({2}, {1, 2})}, {"y", Tensor::of<float>({1}, {1})}}, 1));
              }),
              HasSubstr("expected equal sizes"));
  EXPECT_THAT(message_of([&] {
                make_report("a = sum(x, lengths=n)")
                    .add(values({{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})}, {"n", Tensor::of<int>({3}, {1, 1, 1})}}, 2));
              }),
              HasSubstr("do not fit"));
}

TEST(Report, AccuracyLeavesPaddingOut) {
  Report report =
      make_report("accuracy = accuracy(gold, path, lengths=n), all = accuracy(gold, path), each = accuracy(label, guess)");
  report.add(values({{"gold", Tensor::of<int>({2, 2}, {1, 2, 3, 0})},
                     {"path", Tensor::of<int>({2, 2}, {1, 0, 3, 0})},
                     {"n", Tensor::of<int>({2}, {2, 1})},
                     {"label", Tensor::of<int>({2}, {1, 2})},
                     {"guess", Tensor::of<int>({2}, {1, 1})}},
                    2));
  EXPECT_DOUBLE_EQ(report.result("accuracy"), 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.result("all"), 0.75);
  EXPECT_DOUBLE_EQ(report.result("each"), 0.5);
}

TEST(Report, ExactCountsWholeExamples) {
  Report report = make_report("exact = exact(gold, path, lengths=n), all = exact(gold, path), each = exact(label, guess)");
  const auto batch = [](std::vector<int> path, std::vector<int> lengths) {
    return values({{"gold", Tensor::of<int>({2, 3}, {1, 2, 3, 4, 5, 6})},
                   {"path", Tensor::of<int>({2, 3}, path)},
                   {"n", Tensor::of<int>({3}, lengths)},
                   {"label", Tensor::of<int>({3}, {1, 2, 3})},
                   {"guess", Tensor::of<int>({3}, {1, 1, 3})}},
                  3);
  };
  report.add(batch({1, 2, 9, 4, 9, 6}, {2, 1, 2}));  // correct; wrong only in padding; wrong
  report.add(batch({1, 2, 3, 4, 5, 6}, {2, 2, 0}));
  EXPECT_DOUBLE_EQ(report.result("exact"), 5.0 / 6);
  EXPECT_DOUBLE_EQ(report.result("all"), 4.0 / 6);
  EXPECT_DOUBLE_EQ(report.result("each"), 4.0 / 6);
  EXPECT_THAT(message_of([&] {
                make_report("a = exact(gold, path)")
                    .add(values({{"gold", Tensor::of<int>({2, 3}, {1, 2, 3, 4, 5, 6})},
                                 {"path", Tensor::of<int>({2, 3}, {1, 2, 3, 4, 5, 6})}},
                                2));
              }),
              HasSubstr("expected the batch, 2, as its last axis"));
}

nlohmann::json expected() {
  std::ifstream in(tests::reference("expected.json"));
  return nlohmann::json::parse(in);
}

// Sentences of tags as a padded batch, with the vocabulary of the tags.
struct Tagged {
  std::vector<std::vector<std::string>> gold, predicted;
  Vocabulary vocabulary;

  BatchValues batch(std::size_t begin, std::size_t end) const {
    std::int64_t time = 0, rows = static_cast<std::int64_t>(end - begin);
    for (std::size_t i = begin; i < end; ++i) time = std::max<std::int64_t>(time, static_cast<std::int64_t>(gold[i].size()));
    time += 2;  // more padding than needed
    Tensor g(DType::kInt32, {time, rows}), p(DType::kInt32, {time, rows}), n(DType::kInt32, {rows});
    for (std::size_t i = begin; i < end; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(i - begin);
      n.data<std::int32_t>()[row] = static_cast<std::int32_t>(gold[i].size());
      for (std::size_t t = 0; t < gold[i].size(); ++t) {
        g.data<std::int32_t>()[static_cast<std::int64_t>(t) * rows + row] = vocabulary.number(gold[i][t]);
        p.data<std::int32_t>()[static_cast<std::int64_t>(t) * rows + row] = vocabulary.number(predicted[i][t]);
      }
    }
    return values({{"tags", g}, {"path", p}, {"lengths", n}}, rows);
  }
};

Tagged tagged(const std::string& name) {
  Tagged all;
  VocabularyCounter counter;
  std::vector<std::string> gold, predicted;
  auto lines = read_lines(tests::reference(name + ".txt"));
  lines.emplace_back();
  for (const std::string& line : lines) {
    if (line.empty()) {
      if (!gold.empty()) all.gold.push_back(std::exchange(gold, {})), all.predicted.push_back(std::exchange(predicted, {}));
      continue;
    }
    std::istringstream in(line);
    std::string word, g, p;
    in >> word >> g >> p;
    gold.push_back(g), predicted.push_back(p);
    counter.add(g), counter.add(p);
  }
  VocabularyRules rules;
  rules.closed = true;
  all.vocabulary = counter.build(rules, "tags");
  return all;
}

TEST(Report, SpansAsTheReferenceCountsThem) {
  for (const std::string name : {"spans_by_hand", "spans_iob", "spans_bioes", "spans_ioe"}) {
    const Tagged all = tagged(name);
    Report report = make_report("f1 = spans(tags, path, lengths=lengths), accuracy = accuracy(tags, path, lengths=lengths)");
    report.bind([&](const std::string& feed) { return feed == "tags" ? &all.vocabulary : nullptr; });
    for (std::size_t begin = 0; begin < all.gold.size(); begin += 7)
      report.add(all.batch(begin, std::min(begin + 7, all.gold.size())));
    const auto want = expected().at(name);
    const double correct = want["correct"], gold = want["gold"], predicted = want["predicted"];
    EXPECT_THAT(report.result_names(), ElementsAre("f1", "f1.precision", "f1.recall", "accuracy")) << name;
    EXPECT_DOUBLE_EQ(report.result("f1.precision"), correct / predicted) << name;
    EXPECT_DOUBLE_EQ(report.result("f1.recall"), correct / gold) << name;
    EXPECT_DOUBLE_EQ(report.result("f1"), 2 * correct / (gold + predicted)) << name;
    EXPECT_DOUBLE_EQ(report.result("accuracy"), want["equal"].get<double>() / want["tokens"].get<double>()) << name;
  }
}

// One tag for every character of each line, and the characters as numbers.
struct Segmented {
  std::vector<std::string> places;
  std::vector<std::vector<std::int32_t>> characters;
};
Segmented segmented(const std::string& name) {
  Segmented all;
  for (const std::string& line : read_lines(tests::reference(name))) {
    std::istringstream in(line);
    std::string places;
    std::vector<std::int32_t> characters;
    for (std::string word; in >> word;) {
      const std::size_t n = word.size() / 3;  // every character of the fixture has three bytes
      places += n == 1 ? "S" : "B" + std::string(n - 2, 'M') + "E";
      for (std::size_t i = 0; i < n; ++i) {
        const auto byte = [&](std::size_t k) { return static_cast<std::int32_t>(static_cast<unsigned char>(word[3 * i + k])); };
        characters.push_back((byte(0) << 16) | (byte(1) << 8) | byte(2));
      }
    }
    all.places.push_back(places);
    all.characters.push_back(characters);
  }
  return all;
}

TEST(Report, SegmentationAsTheReferenceCountsIt) {
  const Segmented gold = segmented("segmented_gold.txt"), predicted = segmented("segmented_predicted.txt");
  const auto want = expected().at("segmented");
  Matches by_diff, by_place;
  const auto count = [](const std::vector<bool>& words) { return std::count(words.begin(), words.end(), true); };
  for (std::size_t i = 0; i < gold.places.size(); ++i) {
    const auto a = word_ends(gold.places[i]), b = word_ends(predicted.places[i]);
    by_diff.correct += count(common_words(a, b, gold.characters[i]));
    by_place.correct += count(common_words(a, b, {}));
    by_diff.gold += static_cast<std::int64_t>(a.size());
    by_diff.predicted += static_cast<std::int64_t>(b.size());
  }
  EXPECT_EQ(by_diff.gold, want["gold"].get<std::int64_t>());
  EXPECT_EQ(by_diff.predicted, want["predicted"].get<std::int64_t>());
  EXPECT_EQ(by_diff.correct, want["correct"].get<std::int64_t>());
  EXPECT_EQ(by_place.correct, want["by_place"].get<std::int64_t>());
}

TEST(Report, SegmentationReport) {
  const Vocabulary places({"E", "B", "S", "M"}, true, "tags");
  Report report = make_report(
      "f1 = segmentation(tags, path, lengths=lengths), d = segmentation(tags, path, lengths=lengths, characters=words)");
  report.bind([&](const std::string&) { return &places; });
  // 甲|甲甲 compared with 甲甲|甲, and a padded step
  report.add(values({{"tags", Tensor::of<int>({4, 1}, {2, 1, 0, 3})},
                     {"path", Tensor::of<int>({4, 1}, {1, 0, 2, 3})},
                     {"words", Tensor::of<int>({4, 1}, {5, 5, 5, 0})},
                     {"lengths", Tensor::of<int>({1}, {3})}},
                    1));
  EXPECT_DOUBLE_EQ(report.result("f1"), 0.0);
  EXPECT_DOUBLE_EQ(report.result("d"), 0.5);
  EXPECT_DOUBLE_EQ(report.result("d.recall"), 0.5);
}

TEST(Report, WordsThatTheListLacks) {
  const Vocabulary places({"E", "B", "S", "M"}, true, "tags"), words({"<unk>", "a", "b"}, false, "words");
  const auto bind = [&](Report& report) {
    report.bind([&](const std::string& feed) { return feed == "tags" ? &places : feed == "lexicon" ? &words : nullptr; });
  };
  const std::string text = "f1 = segmentation(tags, path, lengths=lengths, known=lexicon)";
  Report report = make_report(text);
  bind(report);
  EXPECT_THAT(report.result_names(),
              ElementsAre("f1", "f1.precision", "f1.recall", "f1.oov_rate", "f1.oov_recall", "f1.iv_recall"));
  // Two rows: SSBE compared with SSSS, whose first and last words are unknown; S compared with S, known.
  report.add(values({{"tags", Tensor::of<int>({4, 2}, {2, 2, 2, 0, 1, 0, 0, 0})},
                     {"path", Tensor::of<int>({4, 2}, {2, 2, 2, 0, 2, 0, 2, 0})},
                     {"lexicon", Tensor::of<int>({3, 2}, {0, 1, 2, 0, 0, 0})},
                     {"lengths", Tensor::of<int>({2}, {4, 1})}},
                    2));
  EXPECT_DOUBLE_EQ(report.result("f1.recall"), 0.75);
  EXPECT_DOUBLE_EQ(report.result("f1.oov_rate"), 0.5);
  EXPECT_DOUBLE_EQ(report.result("f1.oov_recall"), 0.5);
  EXPECT_DOUBLE_EQ(report.result("f1.iv_recall"), 1.0);
  Report again = make_report(text);
  bind(again);
  again.restore(report.state());
  EXPECT_EQ(again.results(), report.results());
  EXPECT_THAT(message_of([&] {
                Report wrong = make_report("f1 = segmentation(tags, path, lengths=lengths, known=tags)");
                bind(wrong);
              }),
              HasSubstr("is closed: it would hold every word"));
}

TEST(Report, UnknownCharactersAreEqualOnlyAtTheirPlace) {
  // ?|?? compared with ??|?: by number, the last gold word would equal the first predicted one.
  EXPECT_THAT(common_words({1, 3}, {2, 3}, std::vector<std::int32_t>{7, 7, 7}, -1), ElementsAre(false, true));
  EXPECT_THAT(common_words({1, 3}, {2, 3}, std::vector<std::int32_t>{7, 7, 7}, 7), ElementsAre(false, false));
  EXPECT_THAT(common_words({1, 2, 3}, {1, 3}, std::vector<std::int32_t>{7, 7, 7}, 7), ElementsAre(true, false, false));
}

TEST(Report, AccuracyByClass) {
  const Vocabulary labels({"yes", "no"}, true, "label");
  Report report = make_report("a = accuracy(label, guess)");
  report.bind([&](const std::string&) { return &labels; });
  report.add(values({{"label", Tensor::of<int>({4}, {0, 0, 0, 1})}, {"guess", Tensor::of<int>({4}, {0, 0, 1, 1})}}, 4));
  const auto details = report.details();
  ASSERT_EQ(details.size(), 1u);
  EXPECT_EQ(table_text(details[0].second[0]),
            "classes  gold  predicted  correct  precision  recall      f1\n"
            "yes         3          2        2     1.0000  0.6667  0.8000\n"
            "no          1          2        1     0.5000  1.0000  0.6667\n");
  EXPECT_EQ(table_json(details[0].second[1]).dump(),
            "{\"title\":\"gold (rows) against predicted (columns)\",\"columns\":[\"yes\",\"no\"],\"rows\":{\"yes\":[2.0,1.0],"
            "\"no\":[0.0,1.0]}}");
}

TEST(Spans, AnyPlacesCutTheTextIntoWords) {
  EXPECT_THAT(word_ends("BMESBES"), ElementsAre(3, 4, 6, 7));
  EXPECT_THAT(word_ends("MMBB"), ElementsAre(2, 3, 4));
  EXPECT_THAT(word_ends("EEM"), ElementsAre(1, 2, 3));
  EXPECT_THAT(word_ends(""), ElementsAre());
}

TEST(Spans, TagsThatAreNone) {
  EXPECT_FALSE(parse_tag("NOUN"));
  EXPECT_FALSE(parse_tag("Bxy"));
  EXPECT_FALSE(parse_tag(""));
  EXPECT_EQ(parse_tag("I-A-B")->kind, "A-B");
  EXPECT_EQ(parse_tag("M-LOC")->place, 'I');
  EXPECT_EQ(parse_tag("L-LOC")->place, 'E');
  EXPECT_EQ(parse_tag("U-LOC")->place, 'S');
  const Vocabulary labels({"NOUN"}, true, "tags");
  Report report = make_report("f1 = spans(tags, path, lengths=lengths)");
  EXPECT_THAT(message_of([&] { report.bind([&](const std::string&) { return &labels; }); }),
              HasSubstr("'NOUN' of 'tags' is not the tag of a span"));
  EXPECT_THAT(message_of([&] { report.bind([](const std::string&) { return nullptr; }); }), HasSubstr("has no labels"));
}

TEST(Report, SumsContinueFromTheirState) {
  const Tagged all = tagged("spans_iob");
  const std::string text =
      "f1 = spans(tags, path, lengths=lengths), a = accuracy(tags, path, lengths=lengths), m = mean(path, lengths=lengths), x "
      "= exp(mean(path / 7))";
  const auto bind = [&](Report& report) { report.bind([&](const std::string&) { return &all.vocabulary; }); };
  Report whole = make_report(text), first = make_report(text), second = make_report(text);
  bind(whole), bind(first), bind(second);
  whole.add(all.batch(0, 20)), whole.add(all.batch(20, 60));
  first.add(all.batch(0, 20));
  second.restore(nlohmann::json::parse(first.state().dump()));
  second.add(all.batch(20, 60));
  EXPECT_EQ(whole.results(), second.results());
  EXPECT_EQ(whole.state(), second.state());
  EXPECT_THAT(message_of([&] { second.restore(nlohmann::json::parse("{\"f1\": 3}")); }), HasSubstr("E0651"));
}

}  // namespace
}  // namespace graphrun
