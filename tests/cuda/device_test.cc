// Executables on a device: variables agree with those on the host, and errors name the node.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/device/cuda_library.h"
#include "runtime/execute/executable.h"
#include "runtime/tensor/backend.h"
#include "tests/cuda/device.h"
#include "tests/runtime/elman_loop.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

const std::string kNetwork = R"(
graph "network" {
  input %words: INT32[time, batch]
  parameter %E: FLOAT[5, 8] = uniform(0.5)
  parameter %U: FLOAT[8, 8] = xavier(0.0)
  %x: FLOAT[time, batch, 8] = gather(%E, %words)
  %h0: FLOAT[batch, 8] = zeros(; shape=[batch, 8])
)" + tests::elman_loop("end", 8, true) +
                             R"(  %square = mul(%end, %end)
  %loss = sum(%square)
  output "end" = %end
  output "loss" = %loss
}
)";

Program training() {
  TrainOptions train;
  train.minimize = "loss";
  return compile(ir::parse(kNetwork, "network"), {}, &train);
}

Program inference() {
  CompileOptions options;
  options.fetches = {"end"};
  return compile(ir::parse(kNetwork, "network"), options);
}

Feeds feeds_of(const Program& program, const std::vector<std::int32_t>& words) {
  Feeds feeds = {{"words", Tensor::of<std::int32_t>({static_cast<std::int64_t>(words.size()) / 2, 2}, words)}};
  for (const FeedSpec& feed : program.feeds) {
    if (feeds.count(feed.name) == 0) feeds[feed.name] = Tensor::of<float>({}, {0.25f});
  }
  return feeds;
}

struct Model {
  explicit Model(const Device& device) : trainer(training(), variables, device), reader(inference(), variables, device) {
    initialize(trainer.program(), *variables, 3);
  }
  void step(const std::vector<std::int32_t>& words = {0, 1, 2, 3, 4, 0}) { trainer.run(feeds_of(trainer.program(), words)); }
  Tensor read() { return reader.run(feeds_of(reader.program(), {1, 1, 4, 2}))[0]; }

  std::shared_ptr<Variables> variables = std::make_shared<Variables>();
  Executable trainer, reader;
};

void expect_near(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.sizes(), b.sizes());
  for (std::int64_t i = 0; i < a.count(); ++i) ASSERT_NEAR(a.at(i), b.at(i), 1e-5 * (1 + std::abs(b.at(i)))) << i;
}

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override { tests::tested_device(); }
};

// `--device auto` takes a GPU, but not the emulated device.
TEST(CudaAuto, TakesOnlyAGpu) { EXPECT_EQ(gpu_or_null(), tests::is_emulated() ? nullptr : &tests::tested_device()); }

TEST_F(CudaDevice, TrainsAsTheCpuDoesAndSharesVariablesBetweenExecutables) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  const Tensor before = cuda.read().clone();
  for (int i = 0; i < 3; ++i) cpu.step(), cuda.step();
  expect_near(cuda.read(), cpu.read());
  EXPECT_NE(cuda.read().at(0), before.at(0));
  for (const char* name : {"E", "U"}) expect_near(cuda.variables->at(name), cpu.variables->at(name));
}

TEST_F(CudaDevice, SeesWhatTheHostWrites) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  for (Model* model : {&cpu, &cuda}) {
    model->step();
    const Tensor& u = model->variables->at("U");  // as the step left it
    u.data<float>()[3] += 1;
    u.mark_written();
    model->variables->set("E", model->variables->all().at("E").clone());
    model->step();
  }
  expect_near(cuda.read(), cpu.read());
}

// Batches of other sizes use other arenas; then the first size returns.
// A variable lies where the caller wants it, whichever side has its value.
TEST_F(CudaDevice, PutsVariablesInMemoryOfOthers) {
  Backend& backend = tests::tested_device().backend();
  const std::size_t bytes = 8 * 8 * sizeof(float);
  const DeviceMemory memory(backend, 2 * bytes), place = memory.part(bytes, bytes);
  const auto in_place = [&] {
    Tensor copy(DType::kFloat32, {8, 8});
    backend.to_host(copy.raw(), place.raw(), bytes);
    return copy;
  };
  Model here(cpu_device()), there(tests::tested_device());
  here.step(), there.step();
  there.variables->put_on_device("U", place);  // the device has the newer value
  expect_near(in_place(), here.variables->at("U"));
  here.step(), there.step();  // a run writes it there
  expect_near(in_place(), here.variables->at("U"));
  expect_near(there.variables->at("U"), here.variables->at("U"));

  for (Model* model : {&here, &there}) {
    const Tensor& u = model->variables->at("U");
    for (float& x : u.span<float>()) x = 0.25f;
    u.mark_written();
  }
  there.variables->put_on_device("U", place);  // the host has
  expect_near(in_place(), here.variables->at("U"));
  backend.clear(place.raw(), bytes);  // others write it there
  there.variables->mark_written_on_device("U");
  for (const float x : there.variables->at("U").span<float>()) ASSERT_EQ(x, 0.0f);

  const Tensor set(DType::kFloat32, {8, 8});
  for (float& x : set.span<float>()) x = 0.5f;
  here.variables->set("U", set.clone()), there.variables->set("U", set.clone());
  here.step(), there.step();  // it lies elsewhere now
  const Tensor zeros = in_place();
  for (const float x : zeros.span<float>()) ASSERT_EQ(x, 0.0f);
  expect_near(there.variables->at("U"), here.variables->at("U"));
}

TEST_F(CudaDevice, BindsEveryShape) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  for (const auto& words : std::vector<std::vector<std::int32_t>>{{1, 2}, {1, 2, 3, 4, 0, 0, 1, 1}, {}, {1, 2}}) {
    cpu.step(words), cuda.step(words);
    expect_near(cuda.read(), cpu.read());
  }
}

TEST_F(CudaDevice, NamesTheIndexThatIsOutOfItsRangeAsTheCpuDoes) {
  std::vector<std::string> messages;
  for (const Device* device : {&cpu_device(), &tests::tested_device()}) {
    Model model(*device);
    try {
      model.reader.run(feeds_of(model.reader.program(), {0, 1, 2, 9, 4, -1}));
      FAIL() << "nothing thrown";
    } catch (const UserError& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kBadData);
      messages.push_back(error.what());
    }
    model.read();  // the executable still works
  }
  EXPECT_EQ(messages[0], messages[1]);
  EXPECT_THAT(messages[1], HasSubstr("gather: index 9 at [1, 1] is not in 0 … 4"));
}

RunOptions left_there() {
  RunOptions options;
  options.on_device = true;
  return options;
}

TEST_F(CudaDevice, LeavesResultsForTheNextRun) {
  Model model(tests::tested_device());
  const Tensor expected = model.read();
  const Feeds feeds = {{"words", model.reader.on_device(Tensor::of<std::int32_t>({2, 2}, {1, 1, 4, 2}))}};
  const Tensor left = model.reader.run(feeds, left_there())[0];
  ASSERT_TRUE(left.on_device());
  EXPECT_THROW(left.raw(), InternalError);
  EXPECT_EQ(left.sizes(), expected.sizes());
  const Tensor again = model.reader.run(feeds, left_there())[0];
  model.reader.finish();
  expect_near(left.to_host(), expected);
  expect_near(again.to_host(), expected);
  EXPECT_EQ(expected.to_host().raw(), expected.raw());
}

// Indices in device memory are not checked before they are used, and a fault is not reported before the run is waited for.
TEST_F(CudaDevice, TellsLaterOfAnIndexThatIsOutOfItsRange) {
  Model model(tests::tested_device());
  const Tensor expected = model.read();
  const Feeds wrong = {{"words", model.reader.on_device(Tensor::of<std::int32_t>({2, 2}, {1, 9, 4, 2}))}};
  model.reader.run(wrong, left_there());
  const Feeds right = {{"words", model.reader.on_device(Tensor::of<std::int32_t>({2, 2}, {1, 1, 4, 2}))}};
  model.reader.run(right, left_there());
  try {
    model.reader.finish();
    FAIL() << "nothing thrown";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gather: index 9 at [0, 1] is not in 0 … 4"));
  }
  model.reader.finish();  // a fault is reported once
  expect_near(model.reader.run(right)[0], expected);
}

// If sizes change, runs not waited for yet are waited for first, and their faults are reported with their own sizes.
TEST_F(CudaDevice, TellsOfAnIndexBeforeSizesChange) {
  Model model(tests::tested_device());
  const auto words = [&](const std::vector<std::int32_t>& all) -> Feeds {
    return {{"words", model.reader.on_device(Tensor::of<std::int32_t>({static_cast<std::int64_t>(all.size()) / 2, 2}, all))}};
  };
  model.reader.run(words({1, 1, 4, 9}), left_there());
  try {
    model.reader.run(words({1, 1}), left_there());
    FAIL() << "nothing thrown";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gather: index 9 at [1, 1] is not in 0 … 4"));
  }
  model.reader.run(words({1, 1}), left_there());
  model.reader.finish();
}

// Several runs of two shapes are in flight; each is waited for separately, in another order. Only then are its results
// available.
TEST_F(CudaDevice, RunsAheadOfReadingResults) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  std::vector<Tensor> expected;
  std::vector<Executable::Started> started;
  for (std::int32_t i = 0; i < 6; ++i) {
    const std::vector<std::int32_t> words =
        i % 3 == 2 ? std::vector<std::int32_t>{1, i % 5} : std::vector<std::int32_t>{0, 1, 4, i % 5};
    const Feeds feeds = feeds_of(cpu.trainer.program(), words);
    expected.push_back(cpu.trainer.run(feeds)[0].clone());
    started.push_back(cuda.trainer.start(feeds));
  }
  for (const std::size_t i : {1u, 0u, 2u, 5u, 4u, 3u}) expect_near(started[i].finish()[0], expected[i]);
  EXPECT_THROW(started[0].finish(), InternalError);
  EXPECT_THROW(Executable::Started().finish(), InternalError);
  expect_near(cuda.read(), cpu.read());
}

// A failed run is reported with its own sizes, no matter which runs started later and which run is waited for first. Runs after
// the fault fail too, earlier ones do not.
TEST_F(CudaDevice, TellsOfAnIndexInARunThatOthersFollow) {
  Model model(tests::tested_device());
  const Tensor expected = model.read();
  const auto start = [&](const std::vector<std::int32_t>& all) {
    const Tensor words = Tensor::of<std::int32_t>({static_cast<std::int64_t>(all.size()) / 2, 2}, all);
    return model.reader.start({{"words", model.reader.on_device(words)}});
  };
  const auto expect_bad = [](Executable::Started& run) {
    try {
      run.finish();
      FAIL() << "nothing thrown";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(), HasSubstr("gather: index 9 at [1, 1] is not in 0 … 4"));
    }
  };
  for (const bool later_first : {false, true}) {
    Executable::Started good = start({1, 1, 4, 2}), bad = start({1, 1, 4, 9}), later = start({1, 1});
    expect_bad(later_first ? later : bad);
    expect_near(good.finish()[0], expected);
    expect_bad(later_first ? bad : later);
    expect_near(start({1, 1, 4, 2}).finish()[0], expected);
  }
  start({1, 9});  // not waited for
  expect_near(start({1, 1, 4, 2}).finish()[0], expected);
  {
    const Executable::Started forgotten = start({1, 9});
    Executable::Started after = start({1, 1, 4, 2});
    EXPECT_THROW(after.finish(), UserError);
  }
  expect_near(start({1, 1, 4, 2}).finish()[0], expected);
}

// More than fits into one pinned page.
TEST_F(CudaDevice, CopiesLargeResultsLater) {
  Backend& device = tests::tested_device().backend();
  std::vector<std::int32_t> numbers(3000), found(3000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int32_t>(i * 7);
  for (const std::size_t bytes : {std::size_t{8}, 4 * numbers.size()}) {
    const DeviceMemory memory(device, bytes);
    device.to_device(memory.raw(), numbers.data(), bytes);
    std::fill(found.begin(), found.end(), -1);
    const Backend::ToHost piece{found.data(), memory.raw(), bytes};
    const auto arrival = device.to_host_later({&piece, 1});
    device.clear(memory.raw(), bytes);
    arrival->wait();
    EXPECT_TRUE(std::equal(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(bytes / 4), numbers.begin()));
  }
}

TEST_F(CudaDevice, ReservesAndFinishesWithoutARun) {
  Model model(tests::tested_device());
  model.reader.reserve(feeds_of(model.reader.program(), {1, 1}));
  model.reader.finish();
}

// A network that draws new numbers at every step, in its loop and before it.
constexpr const char* kDrawing = R"(
graph "network" {
  input %x: FLOAT[time, batch, 8]
  parameter %U: FLOAT[8, 8] = uniform(0.5)
  %d = dropout(%x; rate=0.5, key="x#0")
  %h0: FLOAT[batch, 8] = zeros(; shape=[batch, 8])
  %end: FLOAT[batch, 8] = scan(%h0, %d, %U; states=1, each=1, steps=<time>) body "b" {
    input %h: FLOAT[batch, 8]
    input %x: FLOAT[batch, 8]
    input %U: FLOAT[8, 8]
    input %step: INT32[]
    %g = dropout(%h; rate=0.5, key="h#0")
    %u = matmul(%g, %U)
    %v = add(%u, %x)
    %t = tanh(%v)
    output "h" = %t
  }
  output "end" = %end
}
)";

// Runs whose addresses are all the same are recorded. A replay still sees what changes from run to run: feeds, the step,
// variables that runs wrote, another seed.
TEST_F(CudaDevice, RecordsRunsThatComeAgain) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  for (std::int32_t i = 0; i < 8; ++i) {
    const std::vector<std::int32_t> words = {i % 5, 1, 2, (i + 3) % 5, 4, i % 2};
    cpu.step(words), cuda.step(words);
    if (i == 5) {  // another shape in between
      cpu.step({1, 2}), cuda.step({1, 2});
    }
    expect_near(cuda.read(), cpu.read());
  }
  EXPECT_EQ(cuda.trainer.runs_played(), 6u);
  EXPECT_EQ(cuda.reader.runs_played(), 6u);

  for (const std::vector<std::string>& disabled : std::vector<std::vector<std::string>>{{}, {"fuse"}}) {
    const auto make = [&](const Device& device) {
      CompileOptions options;
      options.disabled_passes = disabled;
      auto variables = std::make_shared<Variables>();
      auto made = std::make_unique<Executable>(compile(ir::parse(kDrawing, "network"), options), variables, device);
      initialize(made->program(), *variables, 1);
      return made;
    };
    const auto on_cpu = make(cpu_device()), on_cuda = make(tests::tested_device());
    std::int64_t i = 0;
    for (const auto& [seed, step] :
         std::vector<std::pair<std::uint64_t, std::uint64_t>>{{5, 0}, {6, 0}, {6, std::uint64_t{1} << 32}}) {
      for (const std::int64_t last = i + 5; i < last; ++i) {
        RunOptions options;
        options.seed = seed, options.step = step + static_cast<std::uint64_t>(i);
        Tensor x(DType::kFloat32, {3, 2, 8});
        for (std::int64_t k = 0; k < x.count(); ++k) x.data<float>()[k] = static_cast<float>((k * 7 + i) % 5) - 2;
        expect_near(on_cuda->run({{"x", x}}, options)[0], on_cpu->run({{"x", x}}, options)[0]);
      }
    }
    EXPECT_EQ(on_cuda->runs_played(), 3u * 3);
  }
}

TEST_F(CudaDevice, TellsOfABadIndexInARecordedRun) {
  // In device memory, where indices are not checked before the run.
  Model model(tests::tested_device());
  const Tensor words = model.reader.on_device(Tensor::of<std::int32_t>({2, 2}, {1, 1, 4, 2}));
  const auto run_with = [&](const std::vector<std::int32_t>& all) {
    tests::tested_device().backend().to_device(words.device_memory(), all.data(), words.bytes());
    return model.reader.run({{"words", words}})[0].clone();
  };
  const Tensor expected = run_with({1, 1, 4, 2});
  for (int i = 0; i < 4; ++i) run_with({0, 3, 4, 2});
  EXPECT_EQ(model.reader.runs_played(), 3u);
  try {
    run_with({1, 9, 4, 2});
    FAIL() << "nothing thrown";
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gather: index 9 at [0, 1] is not in 0 … 4"));
  }
  expect_near(run_with({1, 1, 4, 2}), expected);
  EXPECT_EQ(model.reader.runs_played(), 5u);
}

// A recorded run sees variables that the host has written, also while earlier results are still in use.
TEST_F(CudaDevice, RecordedRunsSeeWhatTheHostWrites) {
  Model cpu(cpu_device()), cuda(tests::tested_device());
  std::vector<Tensor> held;
  for (int i = 0; i < 10; ++i) {
    for (Model* model : {&cpu, &cuda}) {
      model->step();
      if (i % 3 == 2) {
        const Tensor& u = model->variables->at("U");
        u.data<float>()[i] += 0.5f;
        u.mark_written();
      }
      if (i == 7) model->variables->set("E", model->variables->all().at("E").clone());
    }
    held.push_back(cuda.read());
    expect_near(held.back(), cpu.read());
  }
  EXPECT_NE(held[0].at(0), held[9].at(0));
  EXPECT_GT(cuda.trainer.runs_played(), 0u);
}

TEST_F(CudaDevice, NotesWorkAndDoesItLater) {
  Backend& device = tests::tested_device().backend();
  const std::vector<std::int32_t> numbers = {1, 2, 3, 4};
  std::vector<std::int32_t> found(4);
  const DeviceMemory a(device, 16), b(device, 16);
  device.to_device(a.raw(), numbers.data(), 16), device.to_device(b.raw(), numbers.data(), 16);
  device.record();
  device.copy(b.raw(), a.raw(), 16);
  device.clear(a.raw(), 8);
  const auto recording = device.recorded();
  ASSERT_NE(recording, nullptr);
  const auto read = [&](const DeviceMemory& memory) {
    device.to_host(found.data(), memory.raw(), 16);
    return found;
  };
  EXPECT_EQ(read(a), numbers) << "recorded, but not executed";
  const std::vector<std::int32_t> others = {5, 6, 7, 8};
  device.to_device(a.raw(), others.data(), 16);
  device.play(*recording);
  EXPECT_EQ(read(b), others);
  EXPECT_EQ(read(a), (std::vector<std::int32_t>{0, 0, 7, 8}));
  device.play(*recording);
  EXPECT_EQ(read(b), (std::vector<std::int32_t>{0, 0, 7, 8}));
}

TEST_F(CudaDevice, RefusesADeviceThatIsNotThere) {
  try {
    cuda_device(99);
    FAIL() << "nothing thrown";
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_THAT(error.what(), HasSubstr("there is no device 'cuda:99': "));
    if (tests::is_emulated()) {
      EXPECT_THAT(error.what(), HasSubstr("two devices are emulated, cuda:0 and cuda:1"));
    }
  }
  EXPECT_EQ(&cuda_device(0), &tests::tested_device());
}

}  // namespace
}  // namespace graphrun
