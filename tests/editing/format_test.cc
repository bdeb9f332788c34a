// graphrun format: what it writes, and what it never changes.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "compiler/frontend/source.h"
#include "compiler/frontend/text_hints.h"
#include "graphs/graph.pb.h"
#include "graphs/job.pb.h"
#include "tests/draw.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"
#include "tools/format/expression_style.h"
#include "tools/format/format.h"
#include "tools/format/unified_diff.h"
#include "tools/validate/validate.h"

namespace graphrun {
namespace {

namespace fs = std::filesystem;
namespace pb = google::protobuf;
using testing::HasSubstr;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> files_below(const std::string& folder) {
  std::vector<fs::path> all;
  for (const auto& entry : fs::recursive_directory_iterator(tests::source_folder() + "/" + folder))
    if (entry.path().extension() == ".pbtxt") all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::string formatted(const std::string& text) { return format_source(text, intern_text("a test", text)); }

// The values of a message, with expressions as their tokens.
void write_values(const pb::Message& message, std::string& out) {
  const pb::Reflection& r = *message.GetReflection();
  std::vector<const pb::FieldDescriptor*> fields;
  r.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? r.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      out += field->name() + ":";
      if (field->message_type() != nullptr) {
        out += "{\n";
        write_values(field->is_repeated() ? r.GetRepeatedMessage(message, field, i) : r.GetMessage(message, field), out);
        out += "}\n";
      } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
        const std::string text = field->is_repeated() ? r.GetRepeatedString(message, field, i) : r.GetString(message, field);
        if (is_expression(field->options().GetExtension(syntax))) {
          for (const ir::Token& t : ir::tokens_of(ir::SourceText(text))) out += text.substr(t.offset, t.length) + " ";
        } else {
          out += text;
        }
        out += "\n";
      }
    }
  }
  // Numbers too, whose spelling is free.
  std::unique_ptr<pb::Message> numbers(message.New());
  numbers->CopyFrom(message);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->message_type() != nullptr || field->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING)
      r.ClearField(numbers.get(), field);
  }
  out += numbers->ShortDebugString() + "\n";
}

std::string values_of(const std::string& text) {
  const bool job = is_job(text);
  const std::unique_ptr<pb::Message> message(job ? static_cast<pb::Message*>(new Job) : new Graph);
  parse_source(text, intern_text("values", text), message.get());
  std::string out;
  write_values(*message, out);
  return out;
}

std::vector<std::string> comments_of(const std::string& text) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = end_of_aside(text, i);
    if (end == i) continue;
    if (text[i] == '#') {
      std::string comment = text.substr(i, end - i);
      while (!comment.empty() && std::isspace(static_cast<unsigned char>(comment.back()))) comment.pop_back();
      all.push_back(comment);
    }
    i = end;
  }
  return all;
}

void expect_properties(const std::string& text, const std::string& what) {
  SCOPED_TRACE(what);
  const std::string once = formatted(text);
  EXPECT_EQ(formatted(once), once);
  EXPECT_EQ(values_of(once), values_of(text));
  EXPECT_EQ(comments_of(once), comments_of(text));
}

// The file with other white space, and new comments, between its tokens.
std::string respaced(const std::string& text, tests::Draw& draw) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t end = std::min(std::max(end_of_aside(text, i), i), text.size() - 1);
    if (end > i) {
      out += text.substr(i, end - i + 1);
    } else if (std::isspace(static_cast<unsigned char>(text[i]))) {
      switch (draw.below(12)) {
        case 0: out += "\n"; break;
        case 1: out += "\n\n\n  "; break;
        case 2: out += " # note " + std::to_string(i) + "\n"; break;
        case 3: out += "\n   # alone " + std::to_string(i) + "  \n"; break;
        case 4: out += "\r\n"; break;
        default: out += text[i] == '\n' && draw.below(3) != 0 ? "\n" : " ";
      }
    } else {
      out += text[i];
    }
    i = end;
  }
  return out;
}

TEST(Format, ShippedFilesAreItsFixedPoints) {
  const std::vector<fs::path> files = files_below("graphs");
  ASSERT_GT(files.size(), 50u);
  for (const fs::path& file : files_below("tools/new")) EXPECT_EQ(formatted(contents(file)), contents(file)) << file;
  for (const fs::path& file : files) EXPECT_EQ(formatted(contents(file)), contents(file)) << file;
}

TEST(Format, ChangesNeitherMeaningNorComments) {
  for (const char* folder : {"graphs", "tests/random/graphs", "tests/mutants/networks"}) {
    for (const fs::path& file : files_below(folder)) {
      const std::string text = contents(file);
      expect_properties(text, file);
      tests::Draw draw(file.string().size());
      for (int k = 0; k < 5; ++k) {
        const std::string other = respaced(text, draw);
        expect_properties(other, file.string() + " respaced:\n" + other);
      }
    }
  }
}

// Whatever it can read of the texts with mistakes, too.
TEST(Format, FormatsTextsWithMistakesOrRefusesThem) {
  int read = 0, refused = 0;
  for (const fs::path& file : files_below("tests/errors")) {
    const std::string text = contents(file);
    try {
      formatted(text);
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kInvalidGraph);
      ++refused;
      continue;
    }
    expect_properties(text, file);
    ++read;
  }
  EXPECT_GT(read, 50);
  EXPECT_GT(refused, 50);
}

TEST(Format, WritesTheUsualStyle) {
  EXPECT_EQ(formatted("name:'a'\n\n\n\nlet:\"y=f( x ,axis = - 1 )[ 1 : ]*-x\"  # why\noutput : \"y ,z=( a+b )@c\" ;"),
            "name: \"a\"\n\nlet: \"y = f(x, axis=-1)[1:] * -x\"  # why\noutput: \"y, z = (a + b) @ c\"\n");
  EXPECT_EQ(
      formatted("input:{name:[\"x\",'y']shape:\"[a,b]\"}\ninput{ name: \"long\" shape: \"[]\" }\nparameter < name: \"W\" >"),
      "input     { name: [\"x\", \"y\"] shape: \"[a, b]\" }\n"
      "input     { name: \"long\"     shape: \"[]\" }\n"
      "parameter { name: \"W\" }\n");
  // Braces stay on one line or on several, as they are.
  EXPECT_EQ(formatted("graph { # local\nname: \"g\"\n\n output: \"x\" }\ncall { name: \"c\"\n graph: \"g\" }"),
            "graph {  # local\n  name: \"g\"\n\n  output: \"x\"\n}\ncall { name: \"c\"\n       graph: \"g\" }\n");
  // A field with a comment inside is left alone.
  EXPECT_EQ(formatted("doc: \"a \"  # one\n     \"b\"\n"), "doc: \"a \"  # one\n     \"b\"\n");
  // An import's args are bindings.
  EXPECT_EQ(formatted("import: \"cell=cells/lstm.pbtxt(input_bias=true)\""),
            "import: \"cell = cells/lstm.pbtxt(input_bias = true)\"\n");
}

TEST(Format, SplitsLongLines) {
  const std::string sum = "aaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbb * ccccccccccccccccccccccc";
  EXPECT_EQ(formatted("output: \"y = " + sum + ", z = " + sum + "\""),
            "output: \"y = " + sum + ", \"\n        \"z = " + sum + "\"\n");
  const std::string name = "{ name: \"" + std::string(60, 'n') + "\"";
  EXPECT_EQ(formatted("state " + name + " next: \"" + sum + "\" }"), "state " + name + "\n        next: \"" + sum + "\" }\n");
  std::string words;
  for (int i = 0; i < 30; ++i) words += "word" + std::to_string(i) + " ";
  for (const std::string& text : {formatted("doc: \"" + words + "\"")}) {
    EXPECT_LE(text.find('\n'), kFormatColumns);
    EXPECT_THAT(text, HasSubstr("\"\n     \"word"));
  }
}

// "\x4" "1" has two bytes, "\x41" one.
TEST(Format, DoesNotJoinAnEscapeWithADigit) {
  std::string words;
  for (int i = 0; i < 30; ++i) words += "word" + std::to_string(i) + " ";
  for (const char* parts : {R"(\x4" "1 foo)", R"(\1" "2 foo)", R"(\\\12" "3 foo)"}) {
    const std::string kept = std::string(parts).substr(0, std::string(parts).find('"') + 1);
    EXPECT_THAT(formatted("doc: \"" + words + parts + "\""), HasSubstr(kept)) << parts;
  }
  for (const char* parts : {R"(\x41" "1 foo)", R"(\123" "4 foo)", R"(\\1" "2 foo)", R"(\1" "8 foo)"}) {
    const std::string joined = formatted("doc: \"" + words + parts + "\"");
    EXPECT_THAT(joined, ::testing::Not(HasSubstr(std::string(parts).substr(0, std::string(parts).find('"') + 1)))) << parts;
  }
}

// What patch does with a difference.
std::string patched(const std::string& before, const std::string& diff) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      lines.push_back(text.substr(at, end - at));
      at = end;
    }
    return lines;
  };
  const std::vector<std::string> old = lines_of(before);
  std::vector<std::string> out, hunks = lines_of(diff);
  std::size_t at = 0;
  for (std::size_t i = 2; i < hunks.size(); ++i) {
    std::string line = hunks[i];
    if (i + 1 < hunks.size() && hunks[i + 1][0] == '\\') line.pop_back();
    if (line[0] == '@') {
      const auto first = static_cast<std::size_t>(std::atoi(line.c_str() + 4));
      const bool none = line.find(",0 +") != std::string::npos;
      for (const std::size_t begin = none ? first : first - 1; at < begin; ++at) out.push_back(old.at(at));
    } else if (line[0] == '+') {
      out.push_back(line.substr(1));
    } else if (line[0] != '\\') {
      EXPECT_EQ(old.at(at), line.substr(1));
      if (line[0] == ' ') out.push_back(old[at]);
      ++at;
    }
  }
  out.insert(out.end(), old.begin() + static_cast<std::ptrdiff_t>(at), old.end());
  std::string text;
  for (const std::string& line : out) text += line;
  return text;
}

TEST(Format, DifferencesAreThoseOfThePatchFormat) {
  EXPECT_EQ(unified_diff("a\n", "a\n", "x"), "");
  EXPECT_EQ(unified_diff("", "a\nb\n", "x"), "--- x\n+++ x\n@@ -0,0 +1,2 @@\n+a\n+b\n");
  EXPECT_EQ(unified_diff("a\n", "", "x"), "--- x\n+++ x\n@@ -1 +0,0 @@\n-a\n");
  EXPECT_EQ(unified_diff("1\n2\n3\n4\n5\n6", "1\n2\n3\n4\nfive\n6\n", "x"),
            "--- x\n+++ x\n@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n-6\n\\ No newline at end of file\n+five\n+6\n");
  // Two changes with six lines between them share a hunk; with seven, they do not.
  EXPECT_EQ(unified_diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n", "x"),
            "--- x\n+++ x\n@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
  EXPECT_THAT(unified_diff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n", "x"),
              HasSubstr(" 3\n@@ -6,4 +6,4 @@\n 5\n"));
  tests::Draw draw(3);
  for (int round = 0; round < 300; ++round) {
    std::string before, after;
    for (std::size_t k = draw.below(40); k > 0; --k) {
      const std::string line = std::to_string(draw.below(6)) + (k == 1 && draw.one_in(4) ? "" : "\n");
      if (!draw.one_in(5)) before += line;
      if (!draw.one_in(5)) after += line;
    }
    EXPECT_EQ(patched(before, unified_diff(before, after, "x")), after) << before << "---\n" << after;
  }
}

class FormatProgram : public ProgramTest {};

TEST_F(FormatProgram, WritesChecksAndPipes) {
  const std::string bad = "name:\"a\"\noutput: \"x=1\"\n", good = "name: \"a\"\noutput: \"x = 1\"\n";
  write("bad.pbtxt", bad);
  write("good.pbtxt", good);
  const Ran checked = graphrun({"format", "--check", "bad.pbtxt", "good.pbtxt"});
  EXPECT_EQ(checked.code, 1) << checked.err;
  EXPECT_EQ(checked.out, "bad.pbtxt\n");
  EXPECT_EQ(read("bad.pbtxt"), bad);
  EXPECT_EQ(graphrun({"format", "-"}, bad).out, good);
  EXPECT_EQ(graphrun({"format", "-"}, "\xEF\xBB\xBF" + bad).out, good);
  EXPECT_EQ(graphrun({"format", "--stdout", "bad.pbtxt"}).out, good);
  EXPECT_EQ(read("bad.pbtxt"), bad);
  const Ran written = graphrun({"format", "bad.pbtxt", "good.pbtxt"});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(read("bad.pbtxt"), good);
  EXPECT_EQ(graphrun({"format", "--check", "bad.pbtxt", "good.pbtxt"}).code, 0);
}

TEST_F(FormatProgram, ShowsDifferences) {
  const std::string bad = "name:\"a\"\noutput: \"x = 1\"\n";
  const std::string changes = "@@ -1,2 +1,2 @@\n-name:\"a\"\n+name: \"a\"\n output: \"x = 1\"\n";
  write("bad.pbtxt", bad);
  const Ran ran = graphrun({"format", "--diff", "bad.pbtxt"});
  EXPECT_EQ(ran.code, 1) << ran.err;
  EXPECT_EQ(ran.out, "--- bad.pbtxt\n+++ bad.pbtxt\n" + changes);
  EXPECT_EQ(graphrun({"format", "--diff", "--check", "bad.pbtxt"}).out, ran.out);
  EXPECT_EQ(read("bad.pbtxt"), bad);
  EXPECT_EQ(graphrun({"format", "--diff", "-"}, bad).out, "--- stdin\n+++ stdin\n" + changes);
  const Ran checked = graphrun({"format", "--check", "-"}, bad);
  EXPECT_EQ(checked.code, 1);
  EXPECT_EQ(checked.out, "stdin\n");
  const Ran none = graphrun({"format", "--diff", "-"}, "name: \"a\"\n");
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  for (const char* other : {"--diff", "--check"}) {
    const Ran both = graphrun({"format", "--stdout", other, "bad.pbtxt"});
    EXPECT_EQ(both.code, 2);
    EXPECT_THAT(both.err, HasSubstr("--stdout and " + std::string(other) + " exclude each other"));
  }
}

// In the order of their names; hidden ones, other files and links to folders do not count.
TEST_F(FormatProgram, TakesFolders) {
  const std::string bad = "name:\"a\"\n", good = "name: \"a\"\n";
  for (const char* file :
       {"mine/b.pbtxt", "mine/a/deep/c.pbtxt", "mine/.hidden/d.pbtxt", "mine/.e.pbtxt", "mine/f.txt", "other/g.pbtxt"})
    write(file, bad);
  write("mine/a/good.pbtxt", good);
  write("none/x.txt", bad);
  fs::create_directory_symlink("../other", root_ / "mine/link");
  const Ran checked = graphrun({"format", "--check", "mine"});
  EXPECT_EQ(checked.code, 1) << checked.err;
  EXPECT_EQ(checked.out, "mine/a/deep/c.pbtxt\nmine/b.pbtxt\n");
  const Ran written = graphrun({"format", "mine/", "other/g.pbtxt"});
  EXPECT_EQ(written.code, 0) << written.err;
  for (const char* file : {"mine/b.pbtxt", "mine/a/deep/c.pbtxt", "other/g.pbtxt"}) EXPECT_EQ(read(file), good) << file;
  for (const char* file : {"mine/.hidden/d.pbtxt", "mine/.e.pbtxt", "mine/f.txt"}) EXPECT_EQ(read(file), bad) << file;
  EXPECT_EQ(graphrun({"format", "--check", "mine"}).code, 0);
  const Ran none = graphrun({"format", "none"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.err, HasSubstr("'none' contains no .pbtxt files"));
}

TEST_F(FormatProgram, LeavesWhatItCannotRead) {
  const std::string wrong = "name:\"a\"\noutput: \"x = (1\"\n", other = "name:\"a\"\noutput: \"x=1\"\n";
  write("wrong.pbtxt", wrong);
  write("other.pbtxt", other);
  const Ran ran = graphrun({"format", "wrong.pbtxt", "other.pbtxt"});
  EXPECT_EQ(ran.code, 3);
  EXPECT_THAT(ran.err, HasSubstr("wrong.pbtxt:2:16: error[E0105"));
  EXPECT_EQ(read("wrong.pbtxt"), wrong);
  EXPECT_EQ(read("other.pbtxt"), "name: \"a\"\noutput: \"x = 1\"\n");
  const Ran piped = graphrun({"format", "-"}, wrong);
  EXPECT_EQ(piped.code, 3);
  EXPECT_EQ(piped.out, "");
  EXPECT_THAT(piped.err, HasSubstr("stdin:2:16"));
  EXPECT_EQ(graphrun({"format"}).code, 2);
  EXPECT_EQ(graphrun({"format", "none.pbtxt"}).code, 3);
}

}  // namespace
}  // namespace graphrun
