// graphrun format: what it writes, and what it never changes.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>

#include "compiler/frontend/source.h"
#include "graphs/graph.pb.h"
#include "graphs/job.pb.h"
#include "tests/draw.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"
#include "tools/format/expression_style.h"
#include "tools/format/format.h"
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
  EXPECT_EQ(graphrun({"format", "--stdout", "bad.pbtxt"}).out, good);
  EXPECT_EQ(read("bad.pbtxt"), bad);
  const Ran written = graphrun({"format", "bad.pbtxt", "good.pbtxt"});
  EXPECT_EQ(written.code, 0) << written.err;
  EXPECT_EQ(read("bad.pbtxt"), good);
  EXPECT_EQ(graphrun({"format", "--check", "bad.pbtxt", "good.pbtxt"}).code, 0);
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
