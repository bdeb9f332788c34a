// A job's optimizers are the operators NAME_update: graphs/job.proto has a message for each, with its settings. This test
// checks that the two agree. GRAPHRUN_UPDATE=1 in the environment writes the messages of graphs/job.proto from the operators;
// rebuild afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "compiler/ir/op.h"
#include "compiler/ir/printer.h"
#include "graphs/job.pb.h"
#include "runtime/base/file.h"
#include "tests/folders.h"

namespace graphrun {
namespace {

constexpr std::size_t kCommentAt = 41, kColumns = 128;

// The optimizers by their names in a job.
std::map<std::string, const ir::OpSchema*> optimizers() {
  constexpr std::string_view kEnding = "_update";
  std::map<std::string, const ir::OpSchema*> all;
  for (const ir::OpSchema* op : ir::OpRegistry::instance().all()) {
    if (op->update && op->name.ends_with(kEnding) && op->input_index("p") == 0 && op->family != "test")
      all[op->name.substr(0, op->name.size() - kEnding.size())] = op;
  }
  return all;
}

std::string message_name(std::string name) {
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

// The text of the op's page before its equations, as a comment.
std::string source_comment(const ir::OpSchema& op) {
  std::string text = op.doc.substr(0, op.doc.find(":\n")), out, line = "  //";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const std::string word = text.substr(at, end - at) + (end == text.size() ? "." : "");
    if (line.size() + 1 + word.size() > kColumns) {
      out += line + "\n";
      line = "  //";
    }
    line += " " + word;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string field(const std::string& declaration, const std::string& comment) {
  return fmt::format("    {:<{}}// {}\n", declaration, kCommentAt - 6, comment);
}

std::string messages() {
  std::string text;
  for (const auto& [name, op] : optimizers()) {
    text += source_comment(*op) + "  message " + message_name(name) + " {\n";
    text += field("double learning_rate = 1;", "how far a step goes, before schedule and groups");
    int number = 2;
    for (const ir::AttributeSpec& a : op->attributes) {
      if (a.name == "l2" || a.name == "weight_decay") continue;  // common to all optimizers: fields of the enclosing message
      const char* type = a.kind == AttributeKind::kBool ? "bool" : "double";
      text += field(fmt::format("optional {} {} = {};", type, a.name, number++), ir::print(*a.default_value) + ": " + a.doc);
    }
    text += "  }\n";
  }
  return text;
}

// The members of `kind` with their field numbers; new ones get free numbers.
std::string kinds() {
  std::set<int> taken;
  const auto* message = Job::Optimizer::descriptor();
  for (int i = 0; i < message->field_count(); ++i) taken.insert(message->field(i)->number());
  std::map<int, std::string> lines;
  for (const auto& [name, op] : optimizers()) {
    const auto* known = message->FindFieldByName(name);
    int number = known != nullptr ? known->number() : 1;
    while (known == nullptr && !taken.insert(number).second) ++number;
    lines[number] = fmt::format("      {} {} = {};\n", message_name(name), name, number);
  }
  std::string text;
  for (const auto& [number, line] : lines) text += line;
  return text;
}

// Puts `text` between the end of `begin` and `end`, each of which occurs once.
void replace_between(std::string& all, const std::string& begin, const std::string& end, const std::string& text) {
  const std::size_t from = all.find(begin) + begin.size(), to = all.find(end, from);
  ASSERT_TRUE(all.find(begin) != std::string::npos && to != std::string::npos) << begin;
  all.replace(from, to - from, text);
}

TEST(Optimizers, HaveTheirOperatorsSettingsInAJob) {
  const std::string path = tests::source_folder() + "/graphs/job.proto", found = read_file(path, 1 << 20);
  std::string expected = found;
  replace_between(expected, "  message Optimizer {\n    oneof kind {\n", "    }\n", kinds());
  replace_between(expected, "keeps parameters as they are\n  }\n", "\n  message Clip {", messages());
  if (std::getenv("GRAPHRUN_UPDATE")) std::ofstream(path) << expected;
  EXPECT_EQ(found, expected) << "GRAPHRUN_UPDATE=1 rewrites graphs/job.proto";
}

TEST(Optimizers, HaveADefaultForEverySettingAndARangeForEveryNumber) {
  for (const auto& [name, op] : optimizers()) {
    for (const ir::AttributeSpec& a : op->attributes) {
      ASSERT_TRUE(a.default_value) << name << "." << a.name;
      if (a.kind == AttributeKind::kBool) continue;
      EXPECT_EQ(a.kind, AttributeKind::kFloat) << name << "." << a.name;
      EXPECT_NE(a.range, ir::Range::kAny) << name << "." << a.name;
      EXPECT_TRUE(ir::is_within(a.range, std::get<double>(*a.default_value))) << name << "." << a.name;
    }
  }
}

}  // namespace
}  // namespace graphrun
