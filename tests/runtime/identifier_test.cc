// Names for generated code.
#include "runtime/base/identifier.h"

#include <gtest/gtest.h>

namespace graphrun {
namespace {

TEST(Identifier, IsTheValuesOwnName) {
  EXPECT_EQ(identifier("f"), "f");
  EXPECT_EQ(identifier("encode.forward.p"), "p");
  EXPECT_EQ(identifier("read.h.before"), "h_before");
  EXPECT_EQ(identifier("saved.read.uh"), "saved_uh");
  EXPECT_EQ(identifier("next.read.W"), "next_W");
  EXPECT_EQ(identifier("read.f.1.2"), "f_1_2");
  EXPECT_EQ(identifier("d.read.f.1.2"), "d_f_1_2") << "a gradient";
  EXPECT_EQ(identifier("d"), "d");
}

TEST(Identifier, IsAWordThatACompilerTakesForNothingElse) {
  EXPECT_EQ(identifier("new"), "new_");
  EXPECT_EQ(identifier("cell.float"), "float_");
  EXPECT_EQ(identifier("NAN"), "NAN_") << "a macro";
  EXPECT_EQ(identifier("W"), "W");
  EXPECT_EQ(identifier("linux"), "linux_") << "a macro of some compilers";
  EXPECT_EQ(identifier("__a__b"), "a_b") << "the compiler's";
  EXPECT_EQ(identifier("\xCE\xB1"), "value");
  EXPECT_EQ(identifier("3"), "value3");
  EXPECT_EQ(identifier(""), "value");
  EXPECT_EQ(identifier("a*/b\n"), "a_b_");
}

TEST(ShortName, MayBeAWordOfCpp) {
  EXPECT_EQ(short_name("cell.WX"), "WX");
  EXPECT_EQ(short_name("d.cell.new"), "d_new");
  EXPECT_EQ(short_name("__a__b"), "a_b");
  EXPECT_EQ(short_name(""), "value");
}

TEST(Identifiers, AreEachOnce) {
  Identifiers names;
  EXPECT_EQ(names.take("lane"), "lane");
  EXPECT_EQ(names.of("read.lane"), "lane_1");
  EXPECT_EQ(names.of("lane.1"), "lane_1_1");
  EXPECT_EQ(names.of("new"), "new_");
  EXPECT_EQ(names.of("new"), "new_1");
}

}  // namespace
}  // namespace graphrun
