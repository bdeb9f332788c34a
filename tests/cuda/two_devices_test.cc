// Two devices of one library in one process. On a machine with one GPU the tests are skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "runtime/device/cuda_library.h"
#include "runtime/execute/binding_report.h"
#include "runtime/execute/executable.h"
#include "tests/cuda/device.h"
#include "tests/runtime/elman_loop.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

const std::string kLoopAndProduct = R"(
graph "network" {
  input %x: FLOAT[time, batch, 8]
  parameter %U: FLOAT[8, 8] = uniform(0.5)
  parameter %V: FLOAT[8, 8] = uniform(0.5)
  %h0: FLOAT[batch, 8] = zeros(; shape=[batch, 8])
)" + tests::elman_loop("end", 8) +
                                    R"(  %y = matmul(%end, %V)
  output "y" = %y
}
)";

Program network() { return compile(ir::parse(kLoopAndProduct, "network"), {}); }

class CudaTwoDevices : public ::testing::Test {
 protected:
  void SetUp() override {
    tests::tested_device();
    try {
      devices_ = {&cuda_device(0), &cuda_device(1)};
    } catch (const UserError& error) {
      GTEST_SKIP() << error.what();
    }
    if (!tests::is_emulated()) return;
    before_ = tests::emulated_limits(*devices_[1]);
    tests::emulated_limits(*devices_[1]).multiprocessors = 2;
  }
  void TearDown() override {
    if (devices_.size() == 2 && tests::is_emulated()) tests::emulated_limits(*devices_[1]) = before_;
  }

  std::vector<const Device*> devices_;
  DeviceLimits before_;
};

TEST_F(CudaTwoDevices, ShareALibraryAndNothingElse) {
  EXPECT_EQ(&cuda_device(1), devices_[1]);
  EXPECT_NE(devices_[0], devices_[1]);
  EXPECT_EQ(&devices_[0]->kernels(), &devices_[1]->kernels());
  EXPECT_NE(&devices_[0]->kernels(), &cpu_device().kernels());
  EXPECT_NE(&devices_[0]->backend(), &devices_[1]->backend());
}

TEST_F(CudaTwoDevices, RunInTurn) {
  const auto make = [](const Device& device) {
    auto variables = std::make_shared<Variables>();
    auto executable = std::make_unique<Executable>(network(), variables, device);
    initialize(executable->program(), *variables, 4);
    return executable;
  };
  const auto cpu = make(cpu_device()), first = make(*devices_[0]), second = make(*devices_[1]);
  // Enough runs that each device records one and replays it.
  for (int i = 0; i < 5; ++i) {
    Tensor x(DType::kFloat32, {3, 2, 8});
    for (std::int64_t k = 0; k < x.count(); ++k) x.data<float>()[k] = static_cast<float>((k * 7 + i) % 5) - 2;
    const Tensor expected = cpu->run({{"x", x}})[0];
    Executable::Started a = first->start({{"x", x}}), b = second->start({{"x", x}});
    const Tensor of_second = b.finish()[0], of_first = a.finish()[0];
    for (const Tensor& found : {of_first, of_second}) {
      for (std::int64_t k = 0; k < expected.count(); ++k) ASSERT_NEAR(found.at(k), expected.at(k), 1e-5) << i << " " << k;
    }
  }
  EXPECT_GT(first->runs_played(), 0u);
  EXPECT_GT(second->runs_played(), 0u);
}

// Loops are made for the device that they run on, whichever was opened last.
TEST_F(CudaTwoDevices, MakeLoopsForTheirOwnLimits) {
  if (!tests::is_emulated()) return;
  const Program program = network();
  tests::emulated_limits(*devices_[1]).multiprocessors = 1;
  const SymbolValues sizes = {{Symbol::named("time"), 3}, {Symbol::named("batch"), 2}};
  const std::string first = describe_loops(program, sizes, *devices_[0]), second = describe_loops(program, sizes, *devices_[1]);
  EXPECT_THAT(second, HasSubstr("one launch of 1 blocks"));
  EXPECT_THAT(first, HasSubstr("one launch of "));
  EXPECT_NE(first, second);
}

TEST_F(CudaTwoDevices, RefuseEachOthersVariables) {
  auto variables = std::make_shared<Variables>();
  const Executable first(network(), variables, *devices_[0]);
  EXPECT_THROW(Executable(network(), variables, *devices_[1]), InternalError);
  EXPECT_NO_THROW(Executable(network(), variables, *devices_[0]));
}

// What CUDA refuses, the emulated devices refuse.
TEST_F(CudaTwoDevices, RefuseLaunchesOnEachOthersStreams) {
  if (!tests::is_emulated()) return;
  const DeviceMemory memory(devices_[0]->backend(), 4 * sizeof(float));
  const TensorView view{memory.raw(), DType::kFloat32, {4}};
  Attributes attributes;
  KernelRequest request;
  request.attributes = &attributes;
  request.inputs = {view};
  request.absent_inputs = {false};
  request.outputs = {view};
  const std::vector<TensorView> operands = {view};
  for (const Device* used : devices_) {
    used->backend().use();
    const Kernel kernel = (*used->kernels().find("tanh"))(request);
    for (const Device* of_stream : devices_) {
      KernelContext context;
      context.attributes = &attributes;
      context.inputs = operands, context.outputs = operands;
      context.stream = of_stream->backend().stream();
      if (of_stream == used) {
        EXPECT_NO_THROW(kernel.run(context));
      } else {
        EXPECT_THROW(kernel.run(context), InternalError);
      }
    }
  }
}

}  // namespace
}  // namespace graphrun
