#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "graphs/job.pb.h"
#include "ops/schema.h"
#include "tests/folders.h"
#include "tools/cli/program.h"
#include "tools/commands/commands.h"
#include "tools/help/op_reference.h"
#include "tools/help/topics.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string printed(ExitCode (*run)(const Arguments&), const Arguments& arguments) {
  testing::internal::CaptureStdout();
  const ExitCode code = run(arguments);
  std::fflush(stdout);
  EXPECT_EQ(code, ExitCode::kDone);
  return testing::internal::GetCapturedStdout();
}

TEST(OpReference, ShowsAllOfASchema) {
  const ir::OpSchema schema = OpDefinition("shift", "test")
                                  .Doc("y = x + by")
                                  .Input("x", "[...] FLOAT: what is shifted")
                                  .OptionalInput("lengths", "INT32: the number of real positions")
                                  .Float("by", 0.5, "how far")
                                  .Required("axis", AttributeKind::kInt, "along which axis")
                                  .Output("y")
                                  .NoGradient("it is made up")
                                  .schema();
  EXPECT_EQ(op_reference(schema),
            "shift(x, lengths?, by=…, axis=)    (family test)\n"
            "\n"
            "y = x + by\n"
            "\n"
            "inputs\n"
            "  x        [...] FLOAT: what is shifted\n"
            "  lengths  optional. INT32: the number of real positions\n"
            "\n"
            "attributes\n"
            "  by    number = 0.5: how far\n"
            "  axis  whole number, required: along which axis\n"
            "\n"
            "result\n"
            "  y\n"
            "\n"
            "gradient: none: it is made up\n");
}

TEST(Help, ListsEveryCommand) {
  const std::string text = printed(run_help, {});
  for (const std::string& name : command_names()) EXPECT_THAT(text, HasSubstr("  " + name + " "));
}

TEST(Help, EveryCommandHasHelp) {
  for (const Command& command : commands()) {
    const std::string text = printed(command.run, {"--help"});
    EXPECT_THAT(text, HasSubstr("usage: graphrun " + command.name)) << command.name;
    EXPECT_THAT(text, HasSubstr("--threads")) << command.name;
    EXPECT_THAT(printed(run_help, {command.name}), StartsWith(text));
  }
}

TEST(Help, AnUnknownNameGetsNearOnes) {
  for (const auto& [name, near] : {std::pair("hepl", "help"), {"sigmoyd", "sigmoid"}, {"langauge", "language"}}) {
    try {
      run_help({name});
      FAIL();
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr("did you mean '" + std::string(near) + "'"));
    }
  }
}

TEST(Help, PrintsAFieldOfAJobByItsPathOrName) {
  EXPECT_EQ(printed(run_help, {"train.updates"}), schema_fields(Schema::kJob, "train.updates"));
  EXPECT_EQ(printed(run_help, {"adam"}),
            "train.optimizer.adam of a job:\n\n" + schema_fields(Schema::kJob, "train.optimizer.adam"));
  EXPECT_EQ(printed(run_help, {"jsonl"}),
            "several fields of a job have this name or value; `graphrun help job data.format` prints one:\n  data.format\n  "
            "infer.read\n");
  EXPECT_THAT(printed(run_help, {"learning-rate"}), HasSubstr("\n  train.optimizer.adam.learning_rate\n"));
}

// A field's own comment comes first; a comment above it is a sentence of its own.
TEST(Help, JoinsCommentsAsSentences) {
  const auto plain = [](const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); };
  EXPECT_EQ(plain(schema_fields(Schema::kJob, "train.updates")),
            "updates: whole number updates of the parameters; 0: no limit ");
  EXPECT_EQ(plain(schema_fields(Schema::kJob, "train.epochs")),
            "epochs: whole number passes over the training data; 0: no limit. A run ends after `epochs`, `updates` or `hours`, "
            "whichever of those given comes first. ");
  EXPECT_THAT(plain(schema_fields(Schema::kJob, "train.clip")), StartsWith("clip { the largest gradient"));
}

TEST(Help, LeadsFromWordsOfTheLanguageToIt) {
  EXPECT_THAT(printed(run_help, {"scan"}), StartsWith("`scan { … }` is a part of a graph: see `graphrun help graph scan`"));
  EXPECT_THAT(printed(run_help, {"repeat"}), StartsWith("repeat of a graph:\n\nrepeat {"));
  EXPECT_THAT(printed(run_help, {"init"}), StartsWith("parameter.init of a graph:\n\ninit {"));
  EXPECT_EQ(printed(run_help, {"parameter.init"}), schema_fields(Schema::kGraph, "parameter.init"));
  EXPECT_THAT(topic_text("glossary"), AllOf(StartsWith("## Glossary\n"), HasSubstr("| arena |")));
}

TEST(Help, PrintsEveryTopicFromThePagesBesideTheGraphs) {
  const std::string list = printed(run_help, {});
  for (const Topic& topic : topics()) {
    EXPECT_THAT(list, HasSubstr("  " + topic.name + " "));
    EXPECT_GT(printed(run_help, {topic.name}).size(), 300U) << topic.name;
  }
  EXPECT_THAT(topic_text("language"),
              AllOf(StartsWith("## A cell\n"), HasSubstr("**`state`**"), HasSubstr("\n## Networks from graphs\n"),
                    HasSubstr("**`history(x)`**"), testing::Not(HasSubstr("## A job"))));
  EXPECT_THAT(topic_text("reports"),
              AllOf(StartsWith("## Reports\n"), HasSubstr("`exact_match`"), testing::Not(HasSubstr("## Data"))));
}

// Every field of the compiled schema, listed under its message.
void expect_fields(Schema schema, const google::protobuf::Descriptor& type, const std::string& path, int& fields) {
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *type.field(i);
    const std::string name = path.empty() ? field.name() : path + "." + field.name();
    const std::string text = schema_fields(schema, name);
    EXPECT_THAT(text, StartsWith(field.name() + (field.message_type() ? " {" : ":")));
    // In a graph, names, docs and shapes need none.
    EXPECT_TRUE(schema == Schema::kGraph ||
                std::regex_search(text, std::regex("^[^\n]*(\\{|\"|one of|number|false)  +[^ \\[]")))
        << name << " has no comment";
    ++fields;
    if (field.message_type() && field.message_type() != &type) expect_fields(schema, *field.message_type(), name, fields);
  }
}

TEST(Help, ShowsEveryFieldOfAGraph) {
  int fields = 0;
  expect_fields(Schema::kGraph, *google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName("graphrun.Graph"),
                "", fields);
  EXPECT_GT(fields, 50);
  EXPECT_THAT(printed(run_help, {"graph"}), HasSubstr("\ngraph { … }"));
}

TEST(Help, ShowsEveryFieldOfAJobWithItsComment) {
  int fields = 0;
  expect_fields(Schema::kJob, *Job::descriptor(), "", fields);
  EXPECT_GT(fields, 100);
  const auto plain = [](const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); };
  const std::string all = plain(printed(run_help, {"job"}));
  std::ifstream schema(std::filesystem::path(tests::source_folder()) / "graphs/job.proto");
  int comments = 0;
  bool inside = false;
  for (std::string line; std::getline(schema, line);) {
    const std::size_t slashes = line.find("// ");
    if (inside && slashes != std::string::npos) {
      EXPECT_NE(all.find(plain(line.substr(slashes + 3))), std::string::npos) << line;
      ++comments;
    }
    inside = inside || line.starts_with("message Job ");
  }
  EXPECT_GT(comments, 140);
  for (const char* part : {"learning_rate: number", "scores are divided by it"})
    EXPECT_NE(all.find(part), std::string::npos) << part;
  EXPECT_THAT(printed(run_help, {"job", "train.optimizer.adam"}),
              AllOf(StartsWith("adam {"), HasSubstr("beta2: number"), HasSubstr("0.999")));
  EXPECT_THAT(printed(run_help, {"job", "data.format"}), HasSubstr("  CONLL   "));
  const auto refused = [](const Arguments& arguments, const std::string& text) {
    try {
      run_help(arguments);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused({"job", "train.optimiser"}, "a job has no field 'train.optimiser'; did you mean 'optimizer'?");
  refused({"job", "train.epochs.x"}, "'epochs' is a value of its own");
  refused({"data", "train"}, "only `help job` and `help graph` take a path");
  refused({"E9999"}, "there is no message E9999");
}

// The page must have every code, and no code that the sources do not contain.
TEST(Help, SaysWhatEveryMessageOfTheSourcesMeans) {
  const std::filesystem::path root = tests::source_folder();
  std::set<std::string> said, told;
  const std::regex in_source("\"(E[0-9]{4} [a-z0-9-]+)"), in_page("- \\*\\*(E[0-9]{4} [a-z0-9-]+)\\*\\*: .+");
  for (const char* folder : {"compiler", "ops", "runtime", "tools"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".cc" && extension != ".h" && extension != ".cu") continue;
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        if (line.find("E0") == std::string::npos) continue;
        line.resize(std::min(line.find("//"), line.size()));
        for (std::sregex_iterator it(line.begin(), line.end(), in_source), end; it != end; ++it) said.insert((*it)[1]);
      }
    }
  }
  std::ifstream page(root / "graphs/errors.md");
  for (std::string line; std::getline(page, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, in_page)) continue;
    EXPECT_TRUE(told.insert(match[1]).second) << match[1] << " stands twice";
    const std::string code = match.str(1).substr(0, 5);
    EXPECT_THAT(message_text(code), HasSubstr(match.str(1) + "\n\n")) << line;
  }
  EXPECT_GT(said.size(), 150U);
  EXPECT_EQ(said, told);
  EXPECT_EQ(printed(run_help, {"e306"}), printed(run_help, {"E0306"}));
}

TEST(Help, AbbreviatedAndUnknownOptionsAreRefused) {
  EXPECT_THROW(run_help({"--hel"}), UsageError);
  EXPECT_THROW(run_help({"--nonsense"}), UsageError);
  EXPECT_THROW(run_help({"help", "help"}), UsageError);
}

}  // namespace
}  // namespace graphrun
