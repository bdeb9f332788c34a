// Devices: the kernels of the CPU, and what is said where the library of another device does not load.
// tests/cuda/device_test.cc has the devices of one that does.
#include "runtime/device/device.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/base/status.h"
#include "runtime/device/cuda_library.h"
#include "tests/runtime/temporary_folder.h"

namespace graphrun {
namespace {

using ::testing::HasSubstr;

TEST(KernelRegistry, FindsByOp) {
  KernelRegistry registry;
  const KernelFactory factory = [](const KernelRequest&) -> Kernel { return {nullptr, 64}; };
  registry.add("this", factory);
  EXPECT_THROW(registry.add("this", factory), InternalError);
  registry.seal();
  ASSERT_NE(registry.find("this"), nullptr);
  EXPECT_EQ((*registry.find("this"))({}).workspace, 64u);
  EXPECT_EQ(registry.find("other"), nullptr);
}

TEST(KernelRegistry, NeverChangesOnceItIsRead) {
  const KernelFactory factory = [](const KernelRequest&) -> Kernel { return {nullptr, 64}; };
  KernelRegistry registry;
  EXPECT_THROW(registry.find("this"), InternalError);
  registry.seal();
  EXPECT_THROW(registry.add("this", factory), InternalError);
  EXPECT_EQ(registry.find("this"), nullptr);
  cpu_device();
  EXPECT_THROW(registered_kernels<DeviceKind::kCpu>().add("this", factory), InternalError);
  EXPECT_EQ(cpu_device().kernels().find("this"), nullptr);
}

TEST(CpuDevice, HasNeitherABackendNorLaunches) {
  EXPECT_TRUE(cpu_device().is_cpu());
  EXPECT_EQ(cpu_device().name(), "the CPU");
  EXPECT_THROW(cpu_device().backend(), InternalError);
  EXPECT_THROW(cpu_device().loops(), InternalError);
}

// What opening a device of this library says.
std::string refusal(const std::string& library, int ordinal) {
  setenv("GRAPHRUN_CUDA_LIBRARY", library.c_str(), 1);
  std::string message;
  try {
    cuda_device(ordinal);
  } catch (const UserError& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
    EXPECT_EQ(error.diagnostics().at(0).code, "E0508 no-device");
    message = error.diagnostics().at(0).text;
  }
  unsetenv("GRAPHRUN_CUDA_LIBRARY");
  return message;
}

TEST(CudaLibrary, SaysWhyItDoesNotLoad) {
  const TemporaryFolder folder;
  const std::string none = folder.path() + "/none.so", text = folder.path() + "/text.so";
  std::ofstream(text) << "no library";
  EXPECT_EQ(refusal(none, 0), "there is no device 'cuda': this graphrun was built without CUDA (no " + none + ")");
  EXPECT_THAT(refusal(text, 1), HasSubstr("there is no device 'cuda:1': its library does not load: " + text));
  setenv("GRAPHRUN_CUDA_LIBRARY", none.c_str(), 1);
  EXPECT_EQ(gpu_or_null(), nullptr);
  Dl_info core{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&cpu_device), &core), 0);
  EXPECT_EQ(refusal(core.dli_fname, 0),
            std::string("there is no device 'cuda': ") + core.dli_fname + " is no library of graphrun's");
}

}  // namespace
}  // namespace graphrun
