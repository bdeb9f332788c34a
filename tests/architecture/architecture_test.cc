// The rules of the tree: which folder may include which, no cycles, the names at the top level, file lengths.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>

#include "tests/architecture/layers.h"
#include "tests/architecture/source_text.h"
#include "tests/architecture/tree.h"

namespace graphrun::architecture {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = GRAPHRUN_SOURCE_DIR;

// The most units of a folder outside tests/; more must be grouped by subject in subfolders.
constexpr std::size_t kMostUnits = 20;
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

TEST(Architecture, NoCyclesOfFolders) {
  const std::vector<std::string> cycle = find_cycle(folders_of(tree()));
  EXPECT_TRUE(cycle.empty()) << join(cycle, " includes ");
}

TEST(Architecture, FoldersFitInTheHead) {
  for (const std::string& folder : crowded_folders(units_of(tree()), kMostUnits)) {
    ADD_FAILURE() << folder << " has more than " << kMostUnits << " units: group its files by subject in folders of their own";
  }
}

TEST(Architecture, ReadmesNameEveryFile) {
  for (const auto& [folder, units] : units_of(tree())) {
    const fs::path readme = readme_of(kRoot, folder);
    for (const std::string& unit : unnamed_units(read_text(readme), units)) {
      ADD_FAILURE() << readme << " does not name " << folder << "/" << unit;
    }
  }
}

// Passes ask a schema what an operator is (compiler/ir/roles.h), so that another one of that kind needs no pass to know it.
TEST(Architecture, TheCompilerComparesNoNamesOfOperators) {
  for (const auto& [path, source] : tree()) {
    if (!path.starts_with("compiler/")) continue;
    for (int line : comparisons_of_op_names(read_text(kRoot / path))) {
      ADD_FAILURE() << path << ":" << line << ": compares an operator's name; give its schema a role or a property instead";
    }
  }
}

// Where the order of a scan's operands is known twice, one of the two is wrong after the next change.
TEST(Architecture, TheOrderOfAScansOperandsIsInOnePlace) {
  const std::set<std::string> own = {"runtime/program/program.h", "runtime/program/program.cc", "compiler/ir/graph.h",
                                     "compiler/ir/graph.cc"};
  for (const auto& [path, source] : tree()) {
    if (own.count(path) != 0 || path.starts_with("tests/")) continue;
    for (int line : slot_arithmetic(read_text(kRoot / path))) {
      ADD_FAILURE() << path << ":" << line << ": computes a position among a scan's operands; ask ScanSlots or ir::ScanLayout";
    }
  }
}

// A name that a reader searches for leads to one type of a library.
TEST(Architecture, TypesHaveTheirNamesAlone) {
  // ops/tiles/functions-inl.h is compiled for either of two kinds of vectors, whose types it calls by these names.
  static const std::set<std::string> kOfTwo = {"Mask", "Vec"};
  for (const std::string library : {"compiler", "ops", "runtime", "tools"}) {
    std::map<std::string, std::vector<std::string>> types;
    for (const auto& [path, source] : tree()) {
      if (path.starts_with(library + "/")) types[path] = types_defined(read_text(kRoot / path));
    }
    for (const auto& [name, paths] : types_defined_twice(types)) {
      if (library == "ops" && kOfTwo.count(name) != 0) continue;
      ADD_FAILURE() << "several types of " << library << "/ are called " << name << ": " << join(paths, ", ");
    }
  }
}

TEST(Architecture, PathsInCommentsExist) {
  const std::regex path("(?:runtime|ops|compiler|tools|tests|graphs)/[A-Za-z0-9_/-]+\\.(?:h|cc|cu|def|pbtxt|proto|md)\\b");
  for (const auto& [name, source] : tree()) {
    std::ifstream in(kRoot / name);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      const std::size_t comment = line.find("// ");
      if (comment == std::string::npos) continue;
      line.erase(0, comment);
      for (std::sregex_iterator at(line.begin(), line.end(), path), end; at != end; ++at) {
        EXPECT_TRUE(fs::exists(kRoot / at->str())) << name << ":" << number << ": there is no " << at->str();
      }
    }
  }
}

TEST(Architecture, KernelsAreToldApartWithoutCasts) {
  for (const auto& [path, source] : tree()) {
    if (!may_not_cast(path)) continue;
    for (int line : source.dynamic_casts)
      ADD_FAILURE() << path << ":" << line << ": dynamic_cast; make the alternatives a variant and visit it (in_each_case)";
  }
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
  EXPECT_EQ(fault("runtime/scan/plan.cc", "runtime/tensor/tensor.h"), "");
  EXPECT_NE(fault("runtime/scan/plan.cc", "runtime/execute/binding.h"), "");
  EXPECT_NE(fault("runtime/plan.cc", "runtime/tensor/tensor.h"), "");
  EXPECT_NE(fault("runtime/scan/plan.cc", "compiler/ir/graph.h"), "");
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
  EXPECT_NE(layering_fault("runtime/tensor/tensor.cc", {"google/protobuf/message.h", false, 1}), "");
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

TEST(ArchitectureChecks, CyclesOfFoldersAreFound) {
  Tree cyclic;
  cyclic["a/one.h"] = read_source("a/one.h", "#pragma once\n#include \"b/one.h\"\n");
  cyclic["b/one.h"] = read_source("b/one.h", "#pragma once\n#include \"b/two.h\"\n");
  cyclic["b/two.h"] = read_source("b/two.h", "#pragma once\n");
  EXPECT_TRUE(find_cycle(folders_of(cyclic)).empty());
  cyclic["b/two.h"] = read_source("b/two.h", "#include \"a/two.h\"\n");
  cyclic["a/two.h"] = read_source("a/two.h", "");
  EXPECT_TRUE(find_cycle(cyclic).empty());
  EXPECT_EQ(find_cycle(folders_of(cyclic)), (std::vector<std::string>{"a", "b", "a"}));
}

TEST(ArchitectureChecks, CastsAreFound) {
  const char* const text = "// dynamic_cast\nauto* p = dynamic_cast<const ProductPart*>(part);\nint x;  // no dynamic_cast\n";
  EXPECT_EQ(read_source("ops/recurrent/loop.cc", text).dynamic_casts, std::vector<int>{2});
  EXPECT_TRUE(may_not_cast("ops/recurrent/loop.cc"));
  EXPECT_TRUE(may_not_cast("runtime/scan/launch.cc"));
  EXPECT_TRUE(may_not_cast("compiler/lower.cc"));
  EXPECT_FALSE(may_not_cast("tools/graph_dump.cc"));
}

TEST(ArchitectureChecks, UnitsAreCounted) {
  Tree some;
  for (const char* path : {"a/one.h", "a/one.cc", "a/one.cu", "a/two.h", "a/b/three.cc", "tests/a/four.cc"}) some[path] = {};
  const std::map<std::string, std::set<std::string>> units = units_of(some);
  ASSERT_EQ(units.size(), 2u);
  EXPECT_EQ(units.at("a"), (std::set<std::string>{"one", "two"}));
  EXPECT_EQ(units.at("a/b"), (std::set<std::string>{"three"}));
}

TEST(ArchitectureChecks, CrowdedFoldersAreFound) {
  const std::map<std::string, std::set<std::string>> units = {{"a", {"one", "two"}}, {"b", {"one", "two", "three"}}};
  EXPECT_EQ(crowded_folders(units, 2), std::vector<std::string>{"b"});
  EXPECT_TRUE(crowded_folders(units, 3).empty());
}

TEST(ArchitectureChecks, UnnamedUnitsAreFound) {
  const std::string readme = "| `walk`, `step-inl.h` | the walk and its steps |\n`tree.cc` is";
  EXPECT_TRUE(unnamed_units(readme, {"step-inl", "tree", "walk"}).empty());
  // Part of a longer name is no name.
  EXPECT_EQ(unnamed_units(readme, {"step", "tree", "walker"}), (std::vector<std::string>{"step", "walker"}));
}

TEST(ArchitectureChecks, ComparisonsOfOpNamesAreFound) {
  const auto lines = [](const char* text) { return comparisons_of_op_names(text); };
  EXPECT_EQ(lines("a;\nif (node.op->name == \"add\") b;"), std::vector<int>{2});
  EXPECT_EQ(lines("return n.op->name != name ? x : y;"), std::vector<int>{1});
  EXPECT_EQ(lines("const bool heavy = node->op->family == \"matmul\";"), std::vector<int>{1});
  EXPECT_EQ(lines("return family != \"reduce\";"), std::vector<int>{1});
  EXPECT_EQ(lines("bool is_cast(const OpSchema& op) { return op.name == \"cast\"; }"), std::vector<int>{1});
  EXPECT_EQ(lines("return \"add\" == node.op->name;"), std::vector<int>{1});
  EXPECT_EQ(lines("if (bound.source->op == \"fused\") b;"), std::vector<int>{1});
  EXPECT_EQ(lines("return instruction.op != \"fused\";"), std::vector<int>{1});
  EXPECT_TRUE(lines("// op->name == \"add\"\nif (value.name == name && a.op == b.op) text += n.op->name;").empty());
}

TEST(ArchitectureChecks, SlotArithmeticIsFound) {
  for (const char* line :
       {"x = l.states + k;", "names[k - l.states]", "if (i < l.states + l.each) {", "n = l_.invariants - 1;",
        "const auto each = operands.size() - states;", "if (states + each > n) return;", "x = scan.slots.sequences+i;",
        "k -= layout->states;", "at(l.invariant_begin() + count)", "slot - slots.invariant(0)", "slots.next_state(0) + s",
        "slots_[n].stacks - 1", "x = inputs.size() + 1 + slots.states;", "k - role_.slots.states", "(l.states) + k",
        "x - static_cast<std::int64_t>(l.states)", "step - scan_layout(node).states", "x = k\n    - l.each_begin();"}) {
    EXPECT_EQ(slot_arithmetic(line).size(), 1u) << line;
  }
  for (const char* line : {"x = l.states;",
                           "k < l.states ? a : b",
                           "for (s = 0; s < l.states; ++s) {",
                           "x = slots.stack(s);",
                           "made.states.size() - 1",
                           "states[s + 1]",
                           "l.states->x",
                           "n - 1; states",
                           "// l.states + k",
                           "\"states - \" + name",
                           "run(l.states, k + 1)",
                           "x = l.states, y = -1;",
                           "add(k), ++each_;",
                           "++slots.states;",
                           "states += i < l.states;",
                           "std::to_string(states) + x",
                           "n + x.stacks.size()",
                           "(*l.states).size() + 1",
                           "f(l.states) + 1",
                           "inputs.begin() + static_cast<int>(l.each_begin())",
                           "each - 1",
                           "two_states + 1",
                           "scan.states[s].spec - 1"}) {
    EXPECT_TRUE(slot_arithmetic(line).empty()) << line;
  }
}

TEST(ArchitectureChecks, TypesAreFound) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(
      types_defined("struct A {\n  class B final : public C {\n  };\n  enum class D { kE };\n};\nenum class E : int { kF };"),
      (Names{"A", "B", "E"}));
  EXPECT_EQ(types_defined("template <class T>\nstruct alignas(16) F {\n};\nnamespace {\nclass G {\n};\n}"), (Names{"F", "G"}));
  // Declarations, members of another class, comments.
  EXPECT_EQ(types_defined("class A;\nstruct A::Impl {\n};\n// struct B {\ntemplate <class C>\nvoid f(struct D* d) {}\n"),
            Names());
}

TEST(ArchitectureChecks, TypesOfOneNameAreFound) {
  const std::map<std::string, std::vector<std::string>> types = {
      {"a/x.cc", {"A", "B"}}, {"a/y.h", {"B", "C", "C"}}, {"a/z.cu", {"D"}}, {"a/z_emulation.cc", {"A", "D"}}};
  const std::map<std::string, std::vector<std::string>> expected = {
      {"A", {"a/x.cc", "a/z_emulation.cc"}}, {"B", {"a/x.cc", "a/y.h"}}, {"C", {"a/y.h", "a/y.h"}}};
  EXPECT_EQ(types_defined_twice(types), expected);
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
