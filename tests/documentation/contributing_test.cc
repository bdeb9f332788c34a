// Checks the recipes of .github/CONTRIBUTING.md: the files that they name exist, everything that was added by a recipe is in
// each of its files, and whatever registers itself needs no file but its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "compiler/passes/pass.h"
#include "graphs/job.pb.h"
#include "ops/schema.h"
#include "tests/documentation/markdown.h"
#include "tests/folders.h"
#include "tests/ops/fixture.h"
#include "tests/ops/gradient_check.h"
#include "tools/report/named_measures.h"
#include "tools/report/text_measure.h"

namespace graphrun::documentation {
namespace {

namespace fs = std::filesystem;

std::string contents_of(const fs::path& path) {
  std::ifstream in(tests::source_folder() / path, std::ios::binary);
  EXPECT_TRUE(in) << "cannot read " << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Every file of the folders that a recipe may name, by its path from the root.
const std::vector<std::string>& tree_files() {
  static const std::vector<std::string> kFiles = [] {
    const fs::path root = tests::source_folder();
    std::vector<std::string> files;
    for (const char* folder : {"compiler", "graphs", "ops", "runtime", "tests", "tools"}) {
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        files.push_back(fs::relative(entry.path(), root).generic_string());
      }
    }
    return files;
  }();
  return kFiles;
}

// A regular expression for a path that contains <name> or *.
std::regex pattern_of(const std::string& path) {
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '<') {
      i = path.find('>', i);
      text += "[^/]+";
    } else if (path[i] == '*') {
      text += "[^/]*";
    } else {
      if (std::isalnum(static_cast<unsigned char>(path[i])) == 0 && path[i] != '/' && path[i] != '_') text += '\\';
      text += path[i];
    }
  }
  return std::regex(text);
}

bool names_files(const std::string& path) {
  const std::regex pattern = pattern_of(path);
  return std::any_of(tree_files().begin(), tree_files().end(),
                     [&](const auto& file) { return std::regex_match(file, pattern); });
}

TEST(Contributing, NamesFilesThatAreThere) {
  const std::regex path("(compiler|graphs|ops|runtime|tests|tools)/[\\w./<>*-]+");
  int paths = 0;
  for (const Span& code : read_page(contents_of(".github/CONTRIBUTING.md")).code) {
    std::string text = code.text;
    while (text.ends_with("/")) text.pop_back();
    if (!std::regex_match(text, path)) continue;
    EXPECT_TRUE(names_files(text)) << "line " << code.line << ": there is no " << code.text;
    ++paths;
  }
  EXPECT_GE(paths, 30);
}

TEST(ContributingChecks, PatternsStandForNames) {
  EXPECT_TRUE(names_files("compiler/passes/<name>.h"));
  EXPECT_TRUE(names_files("tests/ops/cases_*.cc"));
  EXPECT_FALSE(names_files("compiler/<name>/passes.h.in"));
  EXPECT_FALSE(names_files("tests/ops/cases-*.cc"));
}

// Whether the word is in a file.
testing::AssertionResult stands_in(const std::string& word, const char* file) {
  if (std::regex_search(contents_of(file), std::regex("\\b" + word + "\\b"))) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "'" << word << "' does not stand in " << file;
}

TEST(Contributing, EveryPassIsOnItsPage) {
  for (const Pass& pass : all_passes()) EXPECT_TRUE(stands_in(pass.name, "compiler/README.md"));
}

TEST(Contributing, EveryMeasureStandsWhereTheListsSay) {
  for (const std::string& name : named_measures()) {
    for (const char* file : {"tools/report/named_measures.cc", "tools/report/named_measures.h", "tools/report/terms.cc",
                             "graphs/README.md", "tests/tools/report_test.cc"}) {
      EXPECT_TRUE(stands_in(name, file));
    }
  }
  for (const std::string& name : text_measures()) {
    for (const char* file :
         {"tools/report/text_measure.cc", "tools/report/text_measure.h", "tools/report/terms.cc", "graphs/README.md"}) {
      EXPECT_TRUE(stands_in(name, file));
    }
  }
}

TEST(Contributing, EveryFormatStandsWhereTheListSays) {
  const google::protobuf::EnumDescriptor& formats = *Job::Data::Format_descriptor();
  ASSERT_GE(formats.value_count(), 7);
  for (int i = 0; i < formats.value_count(); ++i) {
    const std::string name = formats.value(i)->name();
    for (const char* file : {"graphs/README.md", "tests/mutants/data.cc"}) EXPECT_TRUE(stands_in(name, file));
    std::string member = "k" + name;  // kConll
    for (std::size_t c = 2; c < member.size(); ++c) {
      member[c] = static_cast<char>(std::tolower(static_cast<unsigned char>(member[c])));
    }
    for (const char* file : {"tools/data/spec.h", "tools/data/units.cc", "tools/data/numbers.cc"}) {
      EXPECT_TRUE(stands_in(member, file));
    }
  }
}

// An operator as the page has it made: this file is all that it needs. The family "test" is left out where the library's own
// operators are counted.
REGISTER_OP("cube", "test")
    .Doc("y = x^3.\n  let: \"y = cube(x)\"")
    .Input("x", "[...] FLOAT")
    .Output("y")
    .Shape([](ir::InferContext& c) { c.outputs = {c.input(0)}; })
    .Gradient([](ir::GradientContext& c) {
      if (c.needs()) c.set(0, c.b.equation("3 * g * x * x", {{"g", c.g()}, {"x", c.x(0)}}));
    });
REGISTER_KERNEL("cube", kCpu, [](const KernelRequest& request) {
  const auto kernel = [](auto zero) {
    using T = decltype(zero);
    return Kernel{[](const KernelContext& c) {
      const T* x = c.inputs[0].as<T>();
      for (std::int64_t i = 0; i < c.outputs[0].count(); ++i) c.outputs[0].as<T>()[i] = x[i] * x[i] * x[i];
    }};
  };
  return request.outputs[0].dtype == DType::kFloat64 ? kernel(double{}) : kernel(float{});
});

TEST(Contributing, AnOperatorIsOneFile) {
  const tests::Case c = tests::CaseBuilder("cube", "small").in(tests::floats({3}, {-2, 0.5, 1}));
  const std::vector<Tensor> y = tests::run_forward(c, Precision::kFloat64);
  ASSERT_EQ(y.size(), 1u);
  EXPECT_THAT(y[0].span<double>(), testing::ElementsAre(-8, 0.125, 1));
  EXPECT_EQ(tests::gradient_fault(c), "");
}

}  // namespace
}  // namespace graphrun::documentation
