#include "runtime/program/watch.h"

#include <gmock/gmock.h>

#include "tests/runtime/loops.h"

namespace graphrun {
namespace {

using testing::Contains;
using testing::ElementsAre;

// Records each result by name, with its first element and the steps.
class Notes : public Watch {
 public:
  void made(const Instruction& instruction, std::span<const TensorView> outputs, std::span<const std::int64_t> steps) override {
    std::string line = instruction.name;
    for (const std::int64_t step : steps) line += "@" + std::to_string(step);
    if (outputs[0].present()) line += " " + std::to_string(static_cast<int>(outputs[0].as<const float>()[0]));
    lines.push_back(line);
  }
  std::vector<std::string> lines;
};

class Watched : public Loops {
 protected:
  std::vector<std::string> notes_of(const std::string& text) {
    set_threads(1);
    CompileOptions options;
    options.disabled_passes = {"hoist", "fuse"};
    Executable executable(compile(ir::parse(text, "watch_test"), options), std::make_shared<Variables>());
    Feeds feeds;
    for (const FeedSpec& feed : executable.program().feeds) {
      feeds[feed.name] =
          Tensor(DType::kFloat32, evaluate(feed.shape, {{Symbol::named("time"), 2}, {Symbol::named("batch"), 3}}));
      for (float& x : feeds[feed.name].span<float>()) x = 2;
    }
    RunOptions run;
    Notes notes;
    run.watch = &notes;
    executable.run(feeds, run);
    return notes.lines;
  }
};

TEST_F(Watched, EveryResultIsSeenAsItIsMade) {
  EXPECT_THAT(notes_of(R"(graph "g" {
    input %x: FLOAT[batch, 4]
    %a = mul(%x, %x)
    %b = add(%a, %x)
    output "b" = %b
  })"),
              ElementsAre("a 4", "b 6"));
}

TEST_F(Watched, ALoopIsSeenStepByStepThenItself) {
  const std::vector<std::string> lines = notes_of(R"(graph "g" {
    input %x: FLOAT[time, batch, 4]
    input %h0: FLOAT[batch, 4]
    %end: FLOAT[batch, 4] = scan(%h0, %x; states=1, each=1, steps=<time>, reverse=false) body "b" {
      input %h: FLOAT[batch, 4]
      input %x: FLOAT[batch, 4]
      input %step: INT32[]
      %h1 = mul(%h, %x)
      output "h" = %h1
    }
    output "end" = %end
  })");
  EXPECT_THAT(lines, Contains("h1@0 4"));
  EXPECT_THAT(lines, Contains("h1@1 8"));
  EXPECT_EQ(lines.back(), "end 8");
}

TEST_F(Watched, MemoryIsTakenBeforeARunAndKeptForIt) {
  const std::string text = R"(graph "g" {
    input %x: FLOAT[batch, 4]
    %a = matmul(%x, %x; transpose_b=true)
    %b = sum(%a)
    output "b" = %b
  })";
  Executable executable(compile(ir::parse(text, "watch_test")), std::make_shared<Variables>());
  const auto feeds = [](std::int64_t batch) { return Feeds{{"x", Tensor(DType::kFloat32, {batch, 4})}}; };
  executable.reserve(feeds(9));
  EXPECT_GE(executable.arena_bytes(), 9 * 9 * sizeof(float));
  EXPECT_EQ(executable.bindings_made(), 1u);
  executable.run(feeds(9));
  EXPECT_EQ(executable.bindings_made(), 1u);
  EXPECT_THROW(executable.reserve(feeds(std::int64_t{1} << 22)), UserError);
}

}  // namespace
}  // namespace graphrun
