// The rules of the tree: which folder may include which, no cycles, what stands at the top level, files that fit in the head.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <set>

#include "tests/architecture/tree.h"

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// Above the first a file wants to be two; the second no file may pass.
constexpr int kLongFile = 400, kLongestFile = 600;

const Tree& tree() {
  static const Tree kTree = read_tree(kRoot);
  return kTree;
}

std::string join(const std::vector<std::string>& names, const char* separator) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : separator) + name;
  return text;
}

TEST(Architecture, FoldersIncludeOnlyWhatTheirLayerMay) {
  ASSERT_FALSE(tree().empty());
  for (const auto& [path, source] : tree())
    for (const Include& include : source.includes) {
      const std::string fault = layering_fault(path, include);
      EXPECT_TRUE(fault.empty()) << path << ":" << include.line << ": includes " << include.path << ", but " << fault;
    }
}

TEST(Architecture, IncludesAreSpelledFromTheRoot) {
  for (const auto& [path, source] : tree())
    for (const Include& include : source.includes) {
      if (!include.quoted || include.path.ends_with(".pb.h")) continue;
      EXPECT_TRUE(fs::exists(kRoot / include.path))
          << path << ":" << include.line << ": no file " << include.path << "; paths start at the root of the repository";
    }
}

TEST(Architecture, NoIncludeCycles) {
  const std::vector<std::string> cycle = find_cycle(tree());
  EXPECT_TRUE(cycle.empty()) << join(cycle, " includes ");
}

TEST(Architecture, HeadersAreGuarded) {
  // A Highway source includes itself once for each processor it is compiled for, guarded by HWY_TARGET_TOGGLE instead.
  for (const auto& [path, source] : tree()) {
    if (path.ends_with(".h") && !path.ends_with("-inl.h")) {
      EXPECT_TRUE(source.pragma_once) << path << ": no #pragma once";
    }
  }
}

TEST(Architecture, OnlyAgreedNamesAtTheTopLevel) {
  static const std::set<std::string> kAgreed = {
      "CMakeLists.txt", "CMakePresets.json", "runtime", "ops", "graphs", "compiler", "tools", "tests", "README.md", "LICENSE"};
  const std::vector<std::string> names = top_level(kRoot);
  ASSERT_FALSE(names.empty());
  for (const std::string& name : names) {
    if (!fs::exists(kRoot / ".git") && name.starts_with("build")) continue;
    EXPECT_TRUE(name.starts_with(".") || kAgreed.count(name)) << name << ": not one of the names of the top level";
  }
}

TEST(Architecture, FilesFitInTheHead) {
  for (const auto& [path, source] : tree()) {
    EXPECT_LE(source.lines, kLongestFile) << path << ": split it by subject";
    if (source.lines > kLongFile && source.lines <= kLongestFile)
      std::cout << "warning: " << path << " has " << source.lines << " lines; more than one subject?\n";
  }
}

// The checks themselves can fail.
TEST(ArchitectureChecks, LayeringFaultsAreFound) {
  const auto fault = [](const char* source, const char* to) { return layering_fault(source, {to, true, 1}); };
  EXPECT_EQ(fault("runtime/executor.cc", "runtime/tensor.h"), "");
  EXPECT_NE(fault("runtime/executor.cc", "compiler/ir/graph.h"), "");
  EXPECT_NE(fault("compiler/ir/graph.cc", "compiler/compile.h"), "");
  EXPECT_EQ(fault("compiler/passes/fold.cc", "ops/schema.h"), "");
  EXPECT_NE(fault("compiler/passes/fold.cc", "ops/math/matmul.h"), "");
  EXPECT_NE(fault("compiler/passes/fold.cc", "graphs/graph.pb.h"), "");
  EXPECT_EQ(fault("compiler/frontend/load.cc", "graphs/graph.pb.h"), "");
  EXPECT_NE(fault("compiler/frontend/load.cc", "tools/data/reader.h"), "");
  EXPECT_NE(fault("ops/math/matmul.cc", "compiler/compile.h"), "");
  EXPECT_EQ(fault("ops/math/matmul.cc", "compiler/ir/op.h"), "");
  EXPECT_EQ(fault("tools/train/loop.cc", "compiler/compile.h"), "");
  EXPECT_NE(fault("tools/train/loop.cc", "tests/support/cases.h"), "");
  EXPECT_NE(layering_fault("runtime/tensor.cc", {"google/protobuf/message.h", false, 1}), "");
}

TEST(ArchitectureChecks, CyclesAreFound) {
  Tree cyclic;
  cyclic["a.h"] = read_source("a.h", "#pragma once\n#include \"b.h\"\n");
  cyclic["b.h"] = read_source("b.h", "#pragma once\n  #  include \"c.h\"  // why\n#include <vector>\n");
  cyclic["c.h"] = read_source("c.h", "#include \"a.h\"\n");
  EXPECT_EQ(find_cycle(cyclic), (std::vector<std::string>{"a.h", "b.h", "c.h", "a.h"}));
  cyclic["c.h"] = read_source("c.h", "");
  EXPECT_TRUE(find_cycle(cyclic).empty());
}

TEST(ArchitectureChecks, SourcesAreRead) {
  const Source source = read_source("x.h", "// #include \"no.h\"\n#pragma once\n#include \"a/b.h\"\n#include <map>\n");
  EXPECT_EQ(source.lines, 4);
  EXPECT_TRUE(source.pragma_once);
  ASSERT_EQ(source.includes.size(), 2u);
  EXPECT_EQ(source.includes[0].path, "a/b.h");
  EXPECT_TRUE(source.includes[0].quoted);
  EXPECT_EQ(source.includes[0].line, 3);
  EXPECT_FALSE(source.includes[1].quoted);
}

}  // namespace
}  // namespace graphrun::architecture
