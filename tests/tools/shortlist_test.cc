// Shortlists: the table, the words of a batch, and the program that makes the one and uses the other.
#include "tools/shortlist/shortlist.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/compressed.h"
#include "tests/tools/generate_fixture.h"
#include "tests/tools/scratch.h"
#include "tools/text/gzip.h"
#include "tools/text/lines.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Vocabulary vocabulary_of(std::vector<std::string> entries) { return {std::move(entries), false, "words"}; }

class LexiconTest : public testing::Test {
 protected:
  Lexicon read(const std::string& text, std::int64_t best = 10) {
    return Lexicon::read(scratch_.file("table", text), source_, target_, best,
                         [&](const Diagnostic& d) { warned_.push_back(render(d, false)); });
  }
  std::string mistake(const std::string& text) {
    try {
      read(text);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }
  static std::vector<std::int32_t> words(const Lexicon& lexicon, std::int32_t source) {
    const auto words = lexicon.of(source);
    return {words.begin(), words.end()};
  }

  Scratch scratch_;
  const Vocabulary source_ = vocabulary_of({"<unk>", "a", "b", "c"}), target_ = vocabulary_of({"<unk>", "x", "y", "z"});
  std::vector<std::string> warned_;
};

TEST_F(LexiconTest, KeepsTheBestWordsOfEachWord) {
  const Lexicon all = read("y a 0.2\nx a 0.5\nz\ta\t0.2\n\nz b 1e-3\n");
  EXPECT_THAT(words(all, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(words(all, 2), ElementsAre(3));
  EXPECT_THAT(words(all, 0), ElementsAre());
  EXPECT_THAT(words(all, 3), ElementsAre());
  EXPECT_THAT(words(read("y a 0.2\nx a 0.5\nz a 0.3\n", 2), 1), ElementsAre(1, 3));
  EXPECT_THAT(words(read("y a -2.5\nx a -0.5\n"), 1), ElementsAre(1, 2));  // logarithms do too
  EXPECT_THAT(words(read(gzip_of("y c 1\n")), 3), ElementsAre(2));
  EXPECT_THAT(words(read("y a 0.5\ny a 0.4\nx a 1e-400\n", 2), 1), ElementsAre(2, 1));  // a pair that stands twice counts once
  EXPECT_TRUE(warned_.empty());
}

TEST_F(LexiconTest, PassesOverWordsThatAreNotKnown) {
  const Lexicon lexicon = read("y a 0.5\nNULL a 0.3\nx NULL 0.3\nw a 0.2\nx d 1\n");
  EXPECT_THAT(words(lexicon, 1), ElementsAre(2));
  ASSERT_EQ(warned_.size(), 1u);
  EXPECT_THAT(warned_[0], AllOf(HasSubstr("warning[E0671 bad-lexicon]"), HasSubstr("2 lines passed over"), HasSubstr("'w'")));
}

TEST_F(LexiconTest, NamesTheLineThatIsWrong) {
  EXPECT_THAT(mistake("x a 0.5\nx a\n"), AllOf(HasSubstr("table:2"), HasSubstr("E0671"), HasSubstr("the line has 2 columns")));
  EXPECT_THAT(mistake("x a 0.5 0.5\n"), HasSubstr("the line has 4 columns"));
  EXPECT_THAT(mistake("x a 0.5\n x  a half\n"), AllOf(HasSubstr("table:2:7"), HasSubstr("'half' is not a number")));
  EXPECT_THAT(mistake("x a inf\n"), HasSubstr("'inf' is not a number"));
  EXPECT_THAT(mistake("a x 0.5\n"), HasSubstr("no line has words of the model's vocabularies"));
  EXPECT_THAT(mistake(""), HasSubstr("no line has words"));
  EXPECT_THAT(mistake(gzip_of("x a 0.5\n").substr(0, 15)), HasSubstr("E0541"));
}

TEST_F(LexiconTest, IsWrittenAsItIsRead) {
  LexicalCounts counts, more;
  counts.add(1, 2, 1), counts.add(1, 3, 0.5), counts.add(1, 1, 0.5), counts.add(2, 3, 0.25);
  more.add(1, 2, 1), more.add(3, 1, 0.00001);
  counts.add(more);
  EXPECT_EQ(counts.pairs(), 4);
  EXPECT_EQ(counts.text(source_, target_, 10), "y a 0.666667\nx a 0.166667\nz a 0.166667\nz b 1\n");
  EXPECT_EQ(counts.text(source_, target_, 1), "y a 0.666667\nz b 1\n");
  EXPECT_THAT(words(read(counts.text(source_, target_, 10)), 1), ElementsAre(2, 1, 3));
  const Vocabulary spaced = vocabulary_of({"<unk>", " ", "y", "z"});
  EXPECT_EQ(counts.text(source_, spaced, 10), "y a 0.666667\nz a 0.166667\nz b 1\n");
}

TEST_F(LexiconTest, IsCompressedAsGzipDoes) {
  const std::string text(100'000, 'x');
  const std::string path = scratch_.file("text.gz", gzip(text));
  LineReader reader(path);
  std::string line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_EQ(line, text);
  EXPECT_FALSE(reader.next(line));
  EXPECT_EQ(gzip(text), gzip(text));
}

TEST(ShortlistOfABatch, HasEachRowsOwnWords) {
  Scratch scratch;
  std::vector<std::string> entries = {"<unk>"};
  for (int i = 1; i < 200; ++i) entries.push_back("w" + std::to_string(i));
  const Vocabulary words = vocabulary_of(entries);
  const std::string table = scratch.file("table", "w150 w1 0.5\nw160 w1 0.4\nw170 w1 0.1\nw180 w2 1\n");
  const BatchShortlist shortlist(Lexicon::read(table, words, words, 2, [](const Diagnostic&) {}), {0, 5}, words.size(), 3);
  const BatchShortlist::Selected selected = shortlist.select({{1}, {2, 2}, {3}}, {{}, {190}, {}});
  const auto list = selected.words.span<std::int32_t>();
  EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
  EXPECT_EQ(selected.words.count(), 16);  // words that nobody may use make few lengths of lists
  const auto allowed = [&](std::int64_t row) {
    std::vector<std::int32_t> own;
    for (std::int64_t k = 0; k < selected.words.count(); ++k) {
      if (selected.allowed.at(row * selected.words.count() + k) != 0) own.push_back(list[static_cast<std::size_t>(k)]);
    }
    return own;
  };
  EXPECT_THAT(allowed(0), ElementsAre(0, 5, 150, 160));
  EXPECT_THAT(allowed(1), ElementsAre(0, 5, 180, 190));
  EXPECT_THAT(allowed(2), ElementsAre(0, 5));
  // No longer than the vocabulary, and as long as the search needs.
  const Vocabulary few = vocabulary_of({"<unk>", "a", "b"});
  const std::string small = scratch.file("small", "a a 1\n");
  const auto read = [&] { return Lexicon::read(small, few, few, 2, [](const Diagnostic&) {}); };
  EXPECT_EQ(BatchShortlist(read(), {0}, 3, 2).select({{1}}, {}).words.count(), 3);
  EXPECT_EQ(BatchShortlist(Lexicon::read(table, words, words, 2, [](const Diagnostic&) {}), {0}, words.size(), 40)
                .select({{1}}, {})
                .words.count(),
            48);
}

TEST_F(Generate, SearchesTheWordsOfAShortlist) {
  const Ran trained = graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Ran made = graphrun({"shortlist", "model", "-o", "lex.txt"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr("--set infer.say.generate.shortlist.table=lex.txt"));
  EXPECT_THAT(read("lex.txt"), HasSubstr("one uno 0."));
  ASSERT_EQ(graphrun({"shortlist", "model", "-o", "lex.txt.gz", "--data", "data/left", "data/right", "--threads", "1"}).code,
            0);
  EXPECT_EQ(read("lex.txt.gz"), gzip(read("lex.txt")));
  EXPECT_EQ(lines_of(graphrun({"shortlist", "model", "-o", "-", "--best", "1"}).out).size(), 3u);

  const std::string input = "uno\n\ndos tres\ntres dos uno\nnada\nuno uno dos\n";
  const std::string table = "infer.say.generate.shortlist.table=lex.txt.gz";
  const std::vector<std::string> more[] = {{},
                                           {"--n-best", "3"},
                                           {"--weights", "int8"},
                                           {"--weights", "bfloat16"},
                                           {"--temperature", "0.5", "--seed", "3"},
                                           {"--rows", "2", "--read-ahead", "0"},
                                           {"--beam", "1"}};
  const auto said = [&](std::vector<std::string> words, const std::vector<std::string>& sets) {
    words.insert(words.begin(), {"infer", "model"});
    for (const std::string& set : sets) words.insert(words.end(), {"--set", set});
    const Ran ran = graphrun(words, input);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string texts = said({}, {});
  EXPECT_EQ(lines_of(texts).at(2), "two three");
  for (const auto& options : more) {
    // All words are among the first ones.
    EXPECT_EQ(said(options, {table, "infer.say.generate.shortlist.first=50"}), said(options, {}))
        << testing::PrintToString(options);
  }
  for (const std::string form : {"float32", "bfloat16", "int8"}) {
    std::vector<std::string> listed = lines_of(said({"--weights", form}, {table, "infer.say.generate.shortlist.first=0"}));
    std::vector<std::string> all = lines_of(texts);
    listed.at(4) = all.at(4) = "";  // the line has no word that the table knows
    EXPECT_EQ(listed, all) << form;
  }
  EXPECT_EQ(said({"--no-shortlist"}, {table, "infer.say.generate.shortlist.first=0"}), texts);

  // A table restricts the words of each line, and of it alone; a prefix may have others.
  write("wrong.txt", "three uno 1\ntwo dos 1\n");
  const std::vector<std::string> wrong = {"infer.say.generate.shortlist.table=wrong.txt",
                                          "infer.say.generate.shortlist.first=0"};
  const std::vector<std::string> lines = lines_of(said({"--rows", "8"}, wrong));
  EXPECT_THAT(lines.at(0), testing::Not(HasSubstr("one")));
  EXPECT_THAT(lines.at(2), testing::Not(HasSubstr("three")));
  EXPECT_EQ(said({"--rows", "1"}, wrong), said({"--rows", "8"}, wrong));
  write("begin", "one\n\nthree\n\n\n\n");
  const std::vector<std::string> begun = lines_of(said({"--prefix", "begin"}, wrong));
  EXPECT_THAT(begun.at(0), testing::StartsWith("one"));
  EXPECT_THAT(begun.at(2), testing::StartsWith("three"));

  // Alignments, scores and fetched values are of the words that are written.
  const std::vector<std::string> all = {table, "infer.say.generate.shortlist.first=50"};
  const auto object = nlohmann::json::parse(lines_of(said({"--json", "--fetch", "logits"}, all)).at(2));
  const auto without = nlohmann::json::parse(lines_of(said({"--json", "--fetch", "logits"}, {})).at(2));
  EXPECT_EQ(object["tokens"], without["tokens"]);
  EXPECT_EQ(object["logits"][0].size(), without["logits"][0].size());
  EXPECT_NEAR(object["log_probability"].get<double>(), without["log_probability"].get<double>(), 1e-4);
  EXPECT_EQ(object["alignment"][0].size(), without["alignment"][0].size());

  write("refs", "one\n\ntwo three\nthree two one\none\none one two\n");
  const Ran forced = graphrun({"infer", "model", "--force", "refs", "--set", table}, input);
  EXPECT_EQ(forced.code, 2);
  EXPECT_THAT(forced.err, AllOf(HasSubstr("E0429"), HasSubstr("--no-shortlist")));
  EXPECT_EQ(graphrun({"infer", "model", "--force", "refs", "--set", table, "--no-shortlist"}, input).code, 0);
}

TEST_F(Generate, KeepsTheTableInTheModelsFolder) {
  write("graphs/jobs/lex.txt", "one uno 0.9\ntwo dos 0.9\nthree tres 0.9\n");
  const std::vector<std::string> job = {"--set", "infer.say.generate.shortlist.table=graphs/jobs/lex.txt",
                                        "--set", "infer.say.generate.shortlist.first=0",
                                        "--set", "report=bleu = bleu(right, say, tokenize='none')"};
  std::vector<std::string> train = {"train", "graphs/jobs/say.pbtxt", "--out", "model"};
  train.insert(train.end(), job.begin(), job.end());
  const Ran trained = graphrun(train);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(read("model/shortlists/say.lex"), read("graphs/jobs/lex.txt"));
  std::filesystem::rename(root_ / "model", root_ / "moved");
  std::filesystem::remove(root_ / "graphs/jobs/lex.txt");
  const Ran said = graphrun({"infer", "moved"}, "dos tres\n");
  EXPECT_EQ(said.out, "two three\n") << said.err;
  EXPECT_EQ(graphrun({"evaluate", "moved", "--data", "data/left", "data/right"}).code, 0);
  EXPECT_EQ(graphrun({"evaluate", "moved", "--data", "data/left", "data/right", "--no-shortlist"}).code, 0);
  std::vector<std::string> resumed = train;
  resumed[3] = "moved";
  resumed.insert(resumed.end(), {"--resume", "--set", "train.epochs=13"});
  const Ran again = graphrun(resumed);
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("E0524"));  // the table is gone, and the run continues with its copy
  write("moved/shortlists/say.lex", "one uno 0.9\n");
  EXPECT_THAT(graphrun({"infer", "moved"}, "dos\n").err, HasSubstr("E0665"));
}

TEST_F(Generate, NamesWhatIsWrongWithAShortlist) {
  const std::string s = "infer.say.generate.shortlist.";
  write("lex.txt", "one uno 0.9\n"), write("columns.txt", "one uno\n");
  const auto refused = [&](std::vector<std::string> sets, int code, const std::string& message) {
    std::vector<std::string> words = {
        "train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "report=bleu = bleu(right, say, tokenize='none')"};
    for (const std::string& set : sets) words.insert(words.end(), {"--set", s + set});
    const Ran ran = graphrun(words);
    EXPECT_EQ(ran.code, code) << testing::PrintToString(sets);
    EXPECT_THAT(ran.err, HasSubstr(message));
    EXPECT_FALSE(exists("model/manifest.json"));
  };
  refused({"best=5"}, 3, "shortlist without table");
  refused({"table=lex.txt", "best=0"}, 3, "best is 0; expected 1 or more");
  refused({"table=lex.txt", "first=-1"}, 3, "first is -1; expected 0 or more");
  refused({"table=lex.txt", "field=right"}, 3, "shortlist: generation does not read field 'right'");
  refused({"table=lex.txt", "field=lefd"}, 3, "lefd");
  refused({"table=nowhere.txt"}, 4, "nowhere.txt");
  refused({"table=columns.txt"}, 4, "columns.txt:1:1: ");
  EXPECT_EQ(graphrun({"shortlist", "nowhere"}).code, 4);
  std::string job = kGeneratingJob;
  job.replace(job.find("name: \"say\""), 11, "name: \"a/b\"");
  job.insert(job.find("scan: \"decode\""), "shortlist { table: \"../../lex.txt\" } ");
  write("graphs/jobs/slash.pbtxt", job);
  const Ran slash = graphrun({"check", "graphs/jobs/slash.pbtxt"});
  EXPECT_EQ(slash.code, 3);
  EXPECT_THAT(slash.err, HasSubstr("its name names a file"));
  ASSERT_EQ(graphrun({"train", "graphs/jobs/say.pbtxt", "--out", "model", "--set", "train.epochs=1"}).code, 0);
  EXPECT_THAT(graphrun({"shortlist", "model", "-o", "no/such/folder"}).err, HasSubstr("E0502"));
  const std::string left = read("data/left");
  std::filesystem::create_symlink(path("data/left"), path("link"));
  for (const bool given : {false, true}) {
    std::vector<std::string> words = {"shortlist", "model", "-o", "link"};
    if (given) words.insert(words.end(), {"--data", "data/left", "data/right"});
    const Ran over = graphrun(words);
    EXPECT_EQ(over.code, 2);
    EXPECT_THAT(over.err,
                AllOf(HasSubstr("E0429"), HasSubstr("--output would overwrite"), HasSubstr("data/left', which is read")));
  }
  EXPECT_EQ(read("data/left"), left);
  EXPECT_THAT(graphrun({"shortlist", "model", "--mode", "nowhere"}).err, HasSubstr("E0425"));
  const std::string look = graphrun({"shortlist", "model", "--mode", "look"}).err;
  EXPECT_THAT(look, AllOf(HasSubstr("job.pbtxt:"), HasSubstr("has no `align`")));
  EXPECT_EQ(graphrun({"shortlist", "nowhere", "--best", "0"}).code, 2);
}

}  // namespace
}  // namespace graphrun
