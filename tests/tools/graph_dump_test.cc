// graph-dump's command line: no option is ignored.
#include <gmock/gmock.h>

#include <cstdlib>
#include <map>
#include <regex>
#include <sstream>

#include "runtime/base/file.h"
#include "tests/folders.h"
#include "tests/tools/program_fixture.h"

namespace graphrun {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

class GraphDump : public ProgramTest {
 protected:
  Ran dump(const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"graphs/tagger.pbtxt",
                                      "--set",
                                      "cell=cells/atr.pbtxt",
                                      "--set",
                                      "vocabulary=20",
                                      "--set",
                                      "labels=4",
                                      "--set",
                                      "embed=8",
                                      "--set",
                                      "hidden=8"};
    words.insert(words.end(), more.begin(), more.end());
    return run("graph-dump", words);
  }
  void refuses(const std::vector<std::string>& more, const std::string& text) const {
    const Ran ran = dump(more);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(text));
    EXPECT_EQ(ran.out, "");
  }
};

TEST_F(GraphDump, RefusesFormatsThatAStageHasNot) {
  for (const std::string format : {"svg", "json", "dot"}) {
    refuses({"--stage", "loaded", "--format", format}, "--stage=loaded");
  }
  EXPECT_EQ(dump({"--stage", "loaded"}).code, 0);
  EXPECT_EQ(dump({"--stage", "checked", "--format", "json"}).code, 0);
}

TEST_F(GraphDump, RefusesNamesThatNothingHasAtAnyStage) {
  refuses({"--optimizer", "adma"}, "'adma'");
  refuses({"--minimize", "lose"}, "did you mean 'loss'");
  refuses({"--fetch", "pth"}, "E0403");
  refuses({"--disable-pass", "hoits"}, "did you mean 'hoist'");
  refuses({"--disable-pass", "spread"}, "there is no pass 'spread'; it is now called 'parallelize_history'; there are");
  refuses({"--stage", "shift"}, "there is no stage 'shift'; it is now called 'delay_to_shift'; there are");
  refuses({"--stage", "memory", "--size", "tme=4"}, "did you mean 'time'");
  const Ran all = dump({"--optimizer", "adam", "--minimize", "loss", "--disable-pass", "hoist"});
  EXPECT_EQ(all.code, 0) << all.err;
}

TEST_F(GraphDump, RefusesSizesThatSayNothing) {
  refuses({"--stage", "loops", "--size", "time=4", "--size", "batch=2", "--size", "time=5"}, "--size gives 'time' twice");
  refuses({"--size", "time=4"}, "--stage=checked depends on no size: --size is for loops, kernels and memory");
  refuses({"--stage", "fuse", "--size", "time=4"}, "--stage=fuse depends on no size");
}

TEST_F(GraphDump, TellsWhyAStageDidNotRun) {
  refuses({"--stage", "fuse", "--disable-pass", "fuse"}, "the stage 'fuse' did not run: --disable-pass leaves it out");
}

TEST_F(GraphDump, TellsWhatEachStageCost) {
  const Ran ran = dump({"--minimize", "loss", "--stage", "planned", "--time-passes", "--disable-pass", "merge"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  for (const std::string stage : {"differentiated", "hoist", "sink", "fuse"}) {
    EXPECT_THAT(ran.err, ContainsRegex(stage + " +[0-9.]+ ms +[0-9]+ nodes"));
  }
  EXPECT_THAT(ran.err, testing::Not(HasSubstr("merge")));
}

// On the CPU, the threads of each loop; on a device, which loops are one launch, and why others are not.
TEST_F(GraphDump, TellsHowLoopsRun) {
  const std::vector<std::string> common = {"--minimize", "loss", "--stage", "loops", "--size", "time=9", "--size", "batch=3"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return more;
  };
  const Ran cpu = dump(with({"--threads", "2"}));
  EXPECT_EQ(cpu.code, 0) << cpu.err;
  EXPECT_THAT(cpu.out, StartsWith("loops on the CPU, 2 threads:\n"));
  EXPECT_THAT(cpu.out, ContainsRegex("  read.forward.end.h: 9 steps of [0-9]+ kernels, by "));
  EXPECT_THAT(cpu.out, ContainsRegex("  d.read.forward.d.h: 9 steps backwards of [0-9]+ kernels, by "));
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  const Ran cuda = dump(with({"--device", "cuda"}));
  const Ran large = dump({"--stage", "loops", "--size", "time=9", "--size", "batch=40000", "--device", "cuda"});
  const Ran rounded = dump(with({"--device", "cuda", "--product-precision", "bfloat16"}));
  unsetenv("GRAPHRUN_CUDA_LIBRARY");
  EXPECT_THAT(rounded.out, HasSubstr(" products in it, 1 passed from block to block, on matrix units in bfloat16; "));
  refuses({"--stage", "loops", "--size", "time=4", "--size", "batch=2", "--product-precision", "bf17"}, "not 'bf17'");
  EXPECT_THAT(
      large.out,
      ContainsRegex(
          "kernel by kernel: not by columns, since 'crf.best.from' .fused_reduction, [^ ]*crf.pbtxt:[0-9]+:[0-9]+. has no "
          "kernel for columns; not by rows, since a block would need [0-9]+ bytes of memory, and has [0-9]+\n"));
  EXPECT_EQ(cuda.code, 0) << cuda.err;
  for (const char* loop : {"  read.forward.end.h: 9 steps", "  d.read.forward.d.h: 9 steps backwards"}) {
    EXPECT_THAT(cuda.out,
                ContainsRegex(std::string(loop) + " of [0-9]+ kernels, as one launch of [0-9]+ blocks of (24|32) threads"));
  }
  EXPECT_THAT(cuda.out, ContainsRegex("  crf.best.end.a: .* as one launch of 3 blocks of .*; each block has its own rows of "
                                      "the batch; they never wait for each other"));
  refuses({"--stage", "loops", "--size", "time=4"}, "depends on the size 'batch': add --size batch=N");
  refuses({"--stage", "loops"}, "depends on the sizes 'batch', 'time': add --size batch=N --size time=N");
  refuses({"--stage", "loops", "--format", "svg"}, "--stage=loops prints text");
}

// How a loop runs depends on the machine: only the text before that is compared.
std::string without_plans(const std::string& text) {
  return std::regex_replace(text, std::regex("( of [0-9]+ kernels?), [^\n]*"), "$1");
}

// A layer of ATR, forward and backward: the committed text is the generated one.
TEST_F(GraphDump, PrintsTheKernelsOfAtr) {
  const std::vector<std::string> words = {"layer.pbtxt", "--set",      "cell=cells/atr.pbtxt",
                                          "--set",       "width=8",    "--set",
                                          "hidden=16",   "--minimize", "loss",
                                          "--stage",     "kernels",    "--size",
                                          "time=5",      "--size",     "batch=4",
                                          "--threads",   "1",          "--device"};
  write("layer.pbtxt", read_file(tests::source_folder() + "/tests/bench/layer.pbtxt", 1 << 20));
  const std::string folder = tests::source_folder() + "/tests/tools/kernels/";
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  setenv("GRAPHRUN_CUDA_ROW_LOOPS", "0", 1);  // so that its narrow loops are divided by columns, as wide ones are
  for (const std::string device : {"cpu", "cuda"}) {
    std::vector<std::string> own = words;
    own.push_back(device);
    const Ran ran = run("graph-dump", own);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(without_plans(ran.out), without_plans(read_file(folder + "atr_" + device + ".txt", 1 << 20)))
        << "graph-dump " << testing::PrintToString(own) << " prints something else than " << folder;
  }
  unsetenv("GRAPHRUN_CUDA_LIBRARY"), unsetenv("GRAPHRUN_CUDA_ROW_LOOPS");
}

// Dropout, reductions and merged products, each with its equation.
TEST_F(GraphDump, PrintsEveryGeneratedKernel) {
  const std::vector<std::string> sizes = {"--minimize", "loss", "--stage", "kernels", "--size", "time=9", "--size", "batch=3"};
  const Ran cpu = dump(sizes);
  EXPECT_EQ(cpu.code, 0) << cpu.err;
  EXPECT_THAT(cpu.out,
              ContainsRegex("// [^ ]*atr.pbtxt:18: f = sigmoid\\(p - q\\)\n +f = sigmoid\\(wx - saved_uh\\[step\\]\\)\n"));
  EXPECT_THAT(cpu.out, ContainsRegex("for \\(step = 8; step >= 0; --step\\) \\{\n"));
  EXPECT_THAT(cpu.out, HasSubstr("sgd_update("));
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  setenv("GRAPHRUN_CUDA_ROW_LOOPS", "0", 1);
  std::vector<std::string> on_device = sizes;
  on_device.insert(on_device.end(), {"--device", "cuda"});
  const Ran cuda = dump(on_device);
  unsetenv("GRAPHRUN_CUDA_LIBRARY"), unsetenv("GRAPHRUN_CUDA_ROW_LOOPS");
  EXPECT_EQ(cuda.code, 0) << cuda.err;
  EXPECT_THAT(cuda.out, ContainsRegex("// [^ ]*atr.pbtxt:18: f = sigmoid\\(p - q\\)\n +const float f_1 = wx - uh;\n"));
  EXPECT_THAT(cuda.out, HasSubstr("loop::multiply(product_uh("));
  EXPECT_THAT(cuda.out, ContainsRegex("// [^ ]*crf.pbtxt:[0-9]+: "));
  refuses({"--stage", "kernels", "--size", "time=4"}, "what kernels compute depends on the size 'batch': add --size batch=N");
  refuses({"--stage", "kernels", "--format", "svg"}, "--stage=kernels prints text");
}

// Two products of one equation, at different columns, are below one line.
TEST_F(GraphDump, PrintsAnEquationOnce) {
  const Ran ran = run("graph-dump", {"graphs/cells/gru.pbtxt", "--set", "input=3", "--set", "hidden=4", "--stage", "kernels",
                                     "--size", "batch=2"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  std::istringstream lines(ran.out);
  int equations = 0;
  for (std::string line, before; std::getline(lines, line); before = line) {
    if (line.find("// ") == std::string::npos || line.find("gru.pbtxt") == std::string::npos) continue;
    EXPECT_NE(line, before);
    ++equations;
  }
  EXPECT_GT(equations, 2);
}

// One node, in which the lengths follow the operands of the work.
TEST_F(GraphDump, PrintsTheLengthsOfAFusedReduction) {
  write("weighted.pbtxt", R"x(
name: "weighted"
input { name: "w" shape: "[time, batch, 1]" }   input { name: "v" shape: "[time, batch, 4]" }
input { name: "n" shape: "[batch]" type: INT32 lengths_of: "time" }
output: "c  =  sum(w * v, n, axis=0)"
)x");
  const std::vector<std::string> words = {"weighted.pbtxt", "--stage", "kernels", "--size", "time=3", "--size", "batch=2"};
  EXPECT_THAT(run("graph-dump", words).out, HasSubstr("\nc = sum(w * v, lengths=n, axis=0)  // [2, 4]"));
}

TEST_F(GraphDump, PrintsTheGradientIfThereIsOne) {
  const Ran ran = dump({"--minimize", "loss"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, dump({"--minimize", "loss", "--stage", "differentiated"}).out);
  EXPECT_NE(ran.out, dump({"--minimize", "loss", "--stage", "checked"}).out);
  EXPECT_EQ(dump({}).out, dump({"--stage", "checked"}).out);
}

// Memory that a stack lends to other values before it gets its own is no result.
TEST_F(GraphDump, PrintsEachResultOfALoopOnce) {
  for (const char* cell : {"atr", "gru", "lstm", "sru", "ran"}) {
    const Ran ran = run("graph-dump", {"graphs/language_model.pbtxt", "--set", "vocabulary=50", "--set",
                                       std::string("cell=cells/") + cell + ".pbtxt", "--set", "hidden=24", "--set", "embed=24",
                                       "--minimize", "loss", "--stage", "kernels", "--size", "time=9", "--size", "batch=12"});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, testing::Not(ContainsRegex("[(]; |, _[),]|_ = "))) << cell;
    std::map<std::string, int> stored;
    std::istringstream lines(ran.out);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("for (step")) stored.clear();
      const std::size_t equals = line.find("[step] = ");
      if (equals == std::string::npos) continue;
      EXPECT_EQ(++stored[line.substr(0, equals)], 1) << cell << ": " << line;
    }
  }
}

// Every loop that one thread runs, or that runs kernel by kernel, with the reason and its line.
TEST_F(GraphDump, TellsWhyALoopIsNotShared) {
  // A matrix as memory, whose gradient sums over columns; rows that read each other, and a product of two states.
  write("graphs/cells/matrix.pbtxt", R"x(name: "matrix"
arg { name: "hidden" }
input     { name: "x" shape: "[batch, input]" }
parameter { name: ["Wq", "Wk", "Wv", "Wf"] shape: "[input, hidden]" }
let: "f = sigmoid(x @ Wf)"
state { name: "C" shape: "[batch, hidden, hidden]"
        next: "expand(f, axis=2) * C + expand(x @ Wv, axis=2) * expand(x @ Wk, axis=1)" }
output: "h = sum(next(C) * expand(x @ Wq, axis=1), axis=2)"
)x");
  write("graphs/cells/centered.pbtxt", R"x(name: "centered"
arg { name: "hidden" }
input     { name: "x" shape: "[batch, input]" }
parameter { name: "W" shape: "[input, hidden]" }
let: "n = h - mean(h, axis=0)"
state { name: "h" shape: "[batch, hidden]" next: "tanh(x @ W + n)" }
output: "h = next(h)"
)x");
  write("graphs/cells/squares.pbtxt", R"x(name: "squares"
arg { name: "hidden" }
input     { name: "x" shape: "[batch, input]" }
parameter { name: "W" shape: "[input, hidden]" }
let: "s = transpose(h) @ h"
state { name: "h" shape: "[batch, hidden]" next: "tanh(x @ W + h @ s)" }
output: "h = next(h)"
)x");
  const auto words = [](const std::string& cell, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"graphs/language_model.pbtxt", "--set", "vocabulary=50", "--set", "cell=cells/" + cell, "--set", "hidden=24",
                 "--set", "embed=24", "--minimize", "loss", "--stage", "loops", "--size", "time=9", "--size", "batch=12"});
    return more;
  };
  const auto loops = [&](const std::string& cell, const std::string& threads) {
    const Ran ran = run("graph-dump", words(cell, {"--threads", threads}));
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, testing::Not(ContainsRegex("(one thread|kernel by kernel)(,|\n)"))) << "without a reason";
    return ran.out;
  };
  const std::string no_weights =
      "kernel by kernel: not by columns, since no product has weights that are the same at every step";
  EXPECT_THAT(
      loops("matrix.pbtxt", "2"),
      ContainsRegex("d.C: 9 steps backwards .*" + no_weights +
                    ".*; not by rows, since '[^']+' .sum_to, [^ ]*cells/matrix.pbtxt:[78]:[0-9]+. has no kernel for rows\n"));
  EXPECT_THAT(
      loops("centered.pbtxt", "2"),
      ContainsRegex("end.h: .*" + no_weights +
                    ".*; not by rows, since '[^']+' .mean, [^ ]*cells/centered.pbtxt:5:[0-9]+. has no kernel for rows\n"));
  EXPECT_THAT(
      loops("squares.pbtxt", "2"),
      ContainsRegex("end.h: .*; '[^']+' .matmul, [^ ]*cells/squares.pbtxt:[56]:[0-9]+. has no kernel for columns, since its "
                    "(left factor is transposed|right factor changes from step to step); not by rows, since "));
  EXPECT_THAT(loops("elman.pbtxt", "2"),
              ContainsRegex("by one thread: about [0-9]+ operations a step, most of them '[^']+' .matmul, "
                            "[^ ]*cells/elman.pbtxt:[0-9]+:[0-9]+., and 300000 are worth a second one"));
  EXPECT_THAT(loops("elman.pbtxt", "1"), HasSubstr("by one thread: there is no other\n"));
  EXPECT_THAT(loops("sru.pbtxt", "2"), HasSubstr(" operations in all steps, most of them '"));
  // On a device that cannot run it as one launch.
  setenv("GRAPHRUN_CUDA_LIBRARY", (tests::build_folder() + "/libgraphrun_cuda_emulated.so").c_str(), 1);
  const Ran cuda = run("graph-dump", words("squares.pbtxt", {"--device", "cuda"}));
  unsetenv("GRAPHRUN_CUDA_LIBRARY");
  EXPECT_THAT(cuda.out, ContainsRegex("kernel by kernel: .*'[^']+' .[a-z]+, [^ ]*cells/squares.pbtxt:[56]:[0-9]+. "));
}

TEST_F(GraphDump, TellsThePeakForSizes) {
  const std::vector<std::string> common = {"--minimize", "loss", "--stage", "memory"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return more;
  };
  const Ran plan = dump(with({}));
  EXPECT_EQ(plan.code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("from loops to their backward loops:\n"));
  EXPECT_THAT(plan.out, HasSubstr("; recomputes "));
  EXPECT_THAT(plan.out, HasSubstr("peak: give the batch's sizes with --size"));
  const Ran peak = dump(with({"--size", "time=4", "--size", "batch=3"}));
  EXPECT_EQ(peak.code, 0) << peak.err;
  EXPECT_THAT(peak.out, HasSubstr("bytes at "));
  EXPECT_THAT(peak.out, HasSubstr("are in use at once, at "));
  EXPECT_THAT(peak.out, ContainsRegex("with what kernels work in: [0-9]+ bytes .[1-9][0-9]* more., by [0-9]+ thread"));
  EXPECT_THAT(peak.out, HasSubstr("packed once until parameters change: 0 bytes\n"));
  const Ran reads = dump({"--inference", "--stage", "memory", "--size", "time=40", "--size", "batch=3", "--fetch", "path"});
  EXPECT_THAT(reads.out, ContainsRegex("packed once until parameters change: [1-9][0-9]* bytes"));
  refuses(with({"--size", "time=4"}), "add --size batch=N");
  refuses(with({"--format", "svg"}), "add --size ");
  const Ran picture = dump(with({"--size", "time=4", "--size", "batch=3", "--format", "svg"}));
  EXPECT_THAT(picture.out,
              AllOf(HasSubstr(">byte of the arena</text>"), HasSubstr(">instruction, in the order they run</text>"),
                    HasSubstr(">the body of a loop</text>")));
}

TEST_F(GraphDump, WritesAPageOfEveryStage) {
  const std::vector<std::string> all = {"--minimize", "loss", "--format", "html"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), all.begin(), all.end());
    return more;
  };
  const Ran page = dump(all);
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("\"name\":\"checked\""),
                              HasSubstr("\"name\":\"differentiated\""), HasSubstr("\"name\":\"scheduled\"")));
  EXPECT_THAT(page.out, HasSubstr("\"kernels\":\"\""));
  // With sizes, also kernels and places in memory; the extension chooses the format.
  const Ran sized = dump({"--minimize", "loss", "--size", "time=4", "--size", "batch=3", "-o", "page.html"});
  EXPECT_EQ(sized.code, 0) << sized.err;
  EXPECT_THAT(read("page.html"), AllOf(HasSubstr("steps of"), ContainsRegex("\"memory\":.\"[a-z]")));
  refuses(with({"--size", "time=4"}), "what a page shows with sizes depends on the size 'batch': add --size batch=N");
  refuses(with({"--stage", "fuse"}), "html shows every stage");
  refuses({"--profile", "trace.json"}, "--profile is for --format=html");
  // Times from a trace.
  write("trace.json", R"({"traceEvents": [{"ph": "X", "name": "read.forward.p", "dur": 1500},
                                          {"ph": "X", "name": "read.forward.p", "dur": 500}, {"ph": "M"}, 3]})");
  const Ran timed = dump(with({"--profile", "trace.json"}));
  EXPECT_EQ(timed.code, 0) << timed.err;
  EXPECT_THAT(timed.out, HasSubstr("\"milliseconds\":{\"read.forward.p\":2.0}"));
  for (const std::string text : {"", "[1]", "{\"traceEvents\": 3}", "nothing"}) {
    write("bad.json", text);
    const Ran bad = dump(with({"--profile", "bad.json"}));
    EXPECT_EQ(bad.code, 4) << bad.err;
    EXPECT_THAT(bad.err, HasSubstr("E0545 no-trace"));
  }
}

// Steps that are not passes, but can be disabled too.
TEST_F(GraphDump, LeavesOutWhatElseTheCompilerDoes) {
  const auto at = [&](const std::string& stage, const std::vector<std::string>& left_out) {
    std::vector<std::string> args = {"--minimize", "loss",   "--stage", stage,       "--size",
                                     "time=9",     "--size", "batch=3", "--threads", "2"};
    for (const std::string& name : left_out) args.insert(args.end(), {"--disable-pass", name});
    const Ran ran = dump(args);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::string gates = "read.forward.f, read.forward.i: ";
  EXPECT_THAT(at("memory", {}),
              AllOf(HasSubstr("read.forward.masked, " + gates), testing::Not(HasSubstr("h.before, " + gates))));
  EXPECT_THAT(at("memory", {"recompute"}), HasSubstr("h.before, " + gates));
  EXPECT_THAT(at("loops", {}), testing::Not(HasSubstr("recurrent_kernels")));
  EXPECT_THAT(at("loops", {"recurrent_kernels"}),
              AllOf(ContainsRegex("d.read.forward.d.h: .*, kernel by kernel, without recurrent_kernels"),
                    testing::Not(HasSubstr("thread,")), testing::Not(HasSubstr("by one thread"))));
  const auto arena = [&](const std::vector<std::string>& left_out) {
    const std::string text = at("memory", left_out);
    const std::size_t begin = text.find("arena: ");
    EXPECT_NE(begin, std::string::npos) << text;
    return std::stoll(text.substr(begin + 7));
  };
  EXPECT_GT(arena({"share_memory"}), 2 * arena({}));
}

TEST_F(GraphDump, TakesANameOnceThatIsGivenTwice) {
  const Ran once = dump({"--fetch", "path", "--stage", "pruned"});
  const Ran twice = dump({"--fetch", "path", "--fetch", "path", "--stage", "pruned"});
  EXPECT_EQ(twice.code, 0) << twice.err;
  EXPECT_EQ(twice.out, once.out);
}

}  // namespace
}  // namespace graphrun
