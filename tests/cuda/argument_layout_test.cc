// The arguments of generated kernels: their text and their bytes come from one list.
#include "ops/generated/argument_layout.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "ops/axis_view.h"
#include "ops/generated/device_code.h"
#include "ops/generated/reduction_text.h"
#include "runtime/base/status.h"
#include "tests/cuda/device.h"

namespace graphrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "";
}

TEST(ArgumentLayout, BytesLieAsTheStructsMembersDo) {
  struct Arguments {
    const float* x;
    std::uint32_t size;
    double scale;
    std::int32_t wide;
    AxisView view;
  };
  ArgumentLayout layout;
  const Argument x = layout.add_address("x", "const float"), size = layout.add<std::uint32_t>("size");
  layout.add("scale", 2.5);
  const Argument wide = layout.add<std::int32_t>("wide");
  layout.add("view", AxisView{2, 3, 4});
  EXPECT_EQ(layout.bytes(), sizeof(Arguments));
  EXPECT_EQ(layout.text(),
            "struct Arguments {\n  const float* x;\n  std::uint32_t size;\n  double scale;\n  std::int32_t wide;\n"
            "  AxisView view;\n};\nstatic_assert(sizeof(Arguments) == 56);\n");
  const float element = 0;
  ArgumentBytes bytes(layout);
  bytes.set(wide, std::int32_t{1});  // in any order
  bytes.set_address(x, &element);
  bytes.set(size, std::uint32_t{7});
  ASSERT_EQ(bytes.bytes().size(), sizeof(Arguments));
  Arguments found;
  std::memcpy(&found, bytes.bytes().data(), sizeof found);
  EXPECT_EQ(found.x, &element);
  EXPECT_EQ(found.size, 7u);
  EXPECT_EQ(found.scale, 2.5);
  EXPECT_EQ(found.wide, 1);
  EXPECT_EQ(found.view.inner, 4);
}

TEST(ArgumentLayout, RefusesAValueThatIsMissing) {
  ArgumentLayout layout;
  const Argument steps = layout.add<std::int64_t>("steps");
  layout.add("rows", std::int32_t{3});
  ArgumentBytes bytes(layout);
  EXPECT_THAT(message_of([&] { bytes.bytes(); }), HasSubstr("'steps' of a generated kernel has no value"));
  bytes.set(steps, std::int64_t{5});
  EXPECT_EQ(message_of([&] { bytes.bytes(); }), "");
}

TEST(ArgumentLayout, RefusesAValueOfAnotherTypeOrNumber) {
  ArgumentLayout layout;
  const Argument steps = layout.add<std::int64_t>("steps"), places = layout.add_array<std::int32_t>("places", 2);
  const Argument x = layout.add_address("x", "float"), rows = layout.add("rows", std::int32_t{3});
  ArgumentBytes bytes(layout);
  EXPECT_THAT(message_of([&] { bytes.set(steps, std::int32_t{5}); }),
              HasSubstr("'steps' of a generated kernel has another type"));
  EXPECT_THAT(message_of([&] { bytes.set(x, std::int64_t{5}); }), HasSubstr("another type"));
  EXPECT_THAT(message_of([&] { bytes.set_all(places, std::span<const std::int32_t>()); }), HasSubstr("holds 2 values, not 0"));
  EXPECT_THAT(message_of([&] { bytes.set(rows, std::int32_t{5}); }), HasSubstr("has a value"));
  EXPECT_THAT(message_of([&] { bytes.set({9}, std::int32_t{5}); }), HasSubstr("no such argument"));
  EXPECT_THAT(message_of([&] { layout.add<float>("steps"); }), HasSubstr("two arguments 'steps'"));
  EXPECT_THAT(message_of([&] { layout.add_array<float>("none", 0); }),
              HasSubstr("'none' of a generated kernel is an array of"));
}

TEST(ArgumentLayout, RefusesMoreThanALaunchBrings) {
  ArgumentLayout layout;
  layout.add_array<std::int64_t>("most", ArgumentBytes::kMostBytes / 8);
  EXPECT_EQ(message_of([&] { ArgumentBytes bytes(layout); }), "");
  layout.add("one", std::int32_t{1});
  EXPECT_THAT(message_of([&] { ArgumentBytes bytes(layout); }), HasSubstr("too many arguments"));
}

// A kernel of the emulated device that reads every member back from the struct as the compiler laid it out.
TEST(ArgumentLayout, TextAndBytesAgreeForTheCompiler) {
  tests::tested_device();
  if (!tests::is_emulated())
    GTEST_SKIP() << "the kernel that reads the arguments back exists only in the emulated device's library";
  ArgumentLayout part;
  part.add("one", std::int32_t{11});
  const Argument draw = part.add<element::DrawnTensor>("draw");
  part.add("last", std::int32_t{13});

  ArgumentLayout layout;
  const Argument out = layout.add_address("out", "double"), places = layout.add_array<std::int32_t>("places", 3);
  const Argument inside = layout.add_struct("part", "Part", part);
  layout.add("scale", 2.5f);
  layout.add_spelled("size", "Index", std::uint32_t{17});
  layout.add("view", AxisView{2, 3, 4});
  layout.add("wide", std::uint64_t{1} << 40);
  layout.add("end", std::int32_t{-19});

  const std::string body =
      std::string(kTextBegin) + "typedef std::uint32_t Index;\n" + part.text("Part") + layout.text() +
      "GRAPHRUN_ENTRY(graphrun_@, Arguments) {\n"
      "  const double read[] = {double(arguments.places[0]), double(arguments.places[2]),\n"
      "                         double(arguments.part.one), double(arguments.part.draw.key),\n"
      "                         double(arguments.part.draw.sizes[11]), double(arguments.part.last),\n"
      "                         double(arguments.scale), double(arguments.size), double(arguments.view.inner),\n"
      "                         double(arguments.wide), double(arguments.end)};\n"
      "  for (int i = 0; i < 11; ++i) arguments.out[i] = read[i];\n"
      "}\n" +
      kTextEnd;
  const DeviceText text = named_text(std::string(kDeviceIncludes) + "#include \"ops/axis_view.h\"\n", body);
  std::vector<double> found(11);
  const std::int32_t three[] = {5, 6, 7};
  element::DrawnTensor drawn = {};
  drawn.key = 23, drawn.sizes[11] = 29;
  ArgumentBytes bytes(layout);
  bytes.set_address(out, found.data());
  bytes.set_all(places, std::span<const std::int32_t>(three));
  bytes.set(ArgumentLayout::of_struct(inside, draw), drawn);

  using Launch = void (*)(const char*, const char*, const std::byte*, std::size_t);
  const auto launch = reinterpret_cast<Launch>(dlsym(RTLD_DEFAULT, "graphrun_launch_generated"));
  ASSERT_NE(launch, nullptr);
  launch(text.entry.c_str(), text.text.c_str(), bytes.bytes().data(), bytes.bytes().size());
  tests::tested_device().backend().wait();
  EXPECT_THAT(found, ElementsAre(5, 7, 11, 23, 29, 13, 2.5, 17, 4, 1099511627776.0, -19));
}

}  // namespace
}  // namespace graphrun
