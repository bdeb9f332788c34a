// Compiles the texts of generated kernels with NVRTC, which needs no device: the same texts that the emulated device runs.
#include "runtime/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "compiler/compile.h"
#include "ops/matmul/few_rows.h"
#include "runtime/base/status.h"
#include "runtime/execute/binding.h"
#include "runtime/execute/executable.h"
#include "runtime/execute/packed_weights.h"
#include "runtime/tensor/safetensors.h"
#include "tests/compiler/network_fixture.h"
#include "tests/cuda/device.h"
#include "tests/folders.h"
#include "tests/sanitized.h"

namespace graphrun::cuda {
namespace {

using ::testing::HasSubstr;

const Nvrtc* nvrtc_or_null() {
  std::string why;
  return Nvrtc::instance(why);
}

// The texts of the networks of the papers, forward and backward, in one precision; where tests are left out, those of one
// network of each kind.
std::set<std::string> texts_of_networks(ProductPrecision products) {
  const tests::NetworkFixtures fixtures("networks");
  const std::vector<std::string> kinds = {"crf", "language_model_lstm", "transformer", "translator"};
  for (const std::string& network : tests::all_tests() ? fixtures.names() : kinds) {
    const NamedTensors tensors = read_safetensors(fixtures.tensors(network));
    const auto [graph, names] = tests::with_gradients(load_graph(fixtures.request(network, true)));
    Executable executable(compile(graph, {}), std::make_shared<Variables>(),
                          Target(tests::tested_device(), WeightForm::kFloat32, products));
    Feeds feeds;
    for (const FeedSpec& f : executable.program().feeds) feeds[f.name] = tensors.at("feed/" + f.name);
    executable.reserve(feeds);  // binds, but does not run
  }
  return tests::generated_texts();
}

// All texts as one program: each has its own namespace, and the headers are read once.
TEST(Nvrtc, CompilesEveryGeneratedKernelOfTheNetworks) {
  const Nvrtc* const nvrtc = nvrtc_or_null();
  if (nvrtc == nullptr) GTEST_SKIP() << "NVRTC is part of the CUDA toolkit, which is not installed here";
  std::string all;
  if (!tests::is_emulated()) GTEST_SKIP() << "on a GPU, the other tests compile and run these kernels with NVRTC";
  const std::set<std::string> texts = texts_of_networks(ProductPrecision::kFloat32);
  EXPECT_GE(texts.size(), tests::all_tests() ? 100u : 30u);
  for (const std::string& text : texts) all += text;
  const std::string code = nvrtc->compile(all, "compute_75", false);
  for (const std::string& text : texts) {
    const std::size_t at = text.find("GRAPHRUN_ENTRY(") + 15;
    ASSERT_THAT(code, HasSubstr(".entry " + text.substr(at, text.find(',', at) - at)));
  }
}

// Matrix units need compute capability 8.0.
TEST(Nvrtc, CompilesLoopsOfRoundedProducts) {
  const Nvrtc* const nvrtc = nvrtc_or_null();
  if (nvrtc == nullptr) GTEST_SKIP() << "NVRTC is part of the CUDA toolkit, which is not installed here";
  if (!tests::is_emulated()) GTEST_SKIP() << "on a GPU, the other tests compile and run these kernels with NVRTC";
  for (const auto& [products, instruction] :
       {std::pair(ProductPrecision::kTf32, "f32.tf32.tf32.f32"), std::pair(ProductPrecision::kBFloat16, "f32.bf16.bf16.f32")}) {
    std::string all;
    std::size_t rounded = 0;
    for (const std::string& text : texts_of_networks(products)) {
      rounded += text.find("loop::multiply_rounded<") != std::string::npos;
      all += text;
    }
    EXPECT_GE(rounded, tests::all_tests() ? 10u : 3u);
    EXPECT_THAT(nvrtc->compile(all, "compute_80", false), HasSubstr(instruction));
  }
}

// At the sizes of a translator's decoder, for a large device.
TEST(Nvrtc, CompilesProductsOfFewRows) {
  const Nvrtc* const nvrtc = nvrtc_or_null();
  if (nvrtc == nullptr) GTEST_SKIP() << "NVRTC is part of the CUDA toolkit, which is not installed here";
  const MatrixProduct first{.m = 80, .n = 1000, .k = 2000}, second{.m = 80, .n = 1000, .k = 1000, .accumulate = true};
  MatrixProduct alone = second;
  alone.accumulate = false;
  std::string all;
  for (const ProductGroup& group : {ProductGroup{ProductGroup::Kind::kSum, {first, second}},
                                    ProductGroup{ProductGroup::Kind::kMany, {alone, alone, alone}}}) {
    for (const ProductPrecision products : {ProductPrecision::kFloat32, ProductPrecision::kTf32, ProductPrecision::kBFloat16}) {
      for (const bool in_scan : {false, true}) {
        KernelRequest request;
        request.products = products;
        request.device = {132, 256, 227 << 10, true, {66, 33, 16, 8}};
        request.device.splits_float32 = true;
        request.outputs.push_back({nullptr, DType::kFloat32, {80, 1000}});
        if (in_scan) request.constant_inputs.assign(6, true);
        const std::optional<FewRowsPlan> plan = plan_few_rows(request, group);
        if (!in_scan && products == ProductPrecision::kFloat32) {
          EXPECT_FALSE(plan) << "which are cuBLAS's";
          continue;
        }
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->stores(), in_scan);
        EXPECT_LE(plan->clusters, 16);
        all += plan->text.text;
      }
    }
  }
  EXPECT_THAT(nvrtc->compile(all, "compute_90", false), HasSubstr("f32.bf16.bf16.f32"));
}

// Clusters need compute capability 9.0.
TEST(Nvrtc, CompilesLoopsInClusters) {
  const Nvrtc* const nvrtc = nvrtc_or_null();
  if (nvrtc == nullptr) GTEST_SKIP() << "NVRTC is part of the CUDA toolkit, which is not installed here";
  if (!tests::is_emulated()) GTEST_SKIP() << "on a GPU, the other tests compile and run these kernels with NVRTC";
  const DeviceLimits before = tests::emulated_limits();
  tests::emulated_limits().clusters = {3, 2, 0, 0};
  tests::emulated_limits().shared = 64 << 10;
  for (const char* cell : {"atr", "gru", "lstm", "adaptive_gru"}) {
    for (ProductPrecision products : {ProductPrecision::kFloat32, ProductPrecision::kTf32, ProductPrecision::kBFloat16}) {
      GraphRequest request;
      request.path = tests::source_folder() + "/tests/bench/layer.pbtxt";
      request.graphs_root = tests::source_folder() + "/graphs";
      request.bindings = {{"cell", std::string("cells/") + cell + ".pbtxt", {}}, {"width", "20", {}}, {"hidden", "20", {}}};
      const Program program = compile(tests::with_gradients(load_graph(request)).graph, {});
      PackedWeightsStore store(program);
      graphrun::bind(program, {{Symbol::named("time"), 3}, {Symbol::named("batch"), 4}},
                     Target(tests::tested_device(), WeightForm::kFloat32, products), store);
    }
  }
  tests::emulated_limits() = before;
  std::string all;
  std::size_t clusters = 0;
  for (const std::string& text : tests::generated_texts()) {
    if (text.find("part_of_cluster") == std::string::npos) continue;
    ++clusters;
    all += text;
  }
  EXPECT_GE(clusters, 10u);
  const std::string code = nvrtc->compile(all, "compute_90", false);
  for (const char* instruction : {"barrier.cluster.arrive.release", "mapa.u64", "%cluster_ctarank"})
    EXPECT_THAT(code, HasSubstr(instruction));
}

TEST(Nvrtc, MakesMachineCodeForEveryArchitecture) {
  const Nvrtc* const nvrtc = nvrtc_or_null();
  if (nvrtc == nullptr) GTEST_SKIP() << "NVRTC is part of the CUDA toolkit, which is not installed here";
  const std::string text =
      "#include \"ops/generated/device_lines.h\"\nnamespace graphrun { struct Arguments { float* y; };\n"
      "GRAPHRUN_ENTRY(kernel, Arguments) { *arguments.y = lines::Op_tanh::of<float>(1.f); } }\n";
  for (int architecture : nvrtc->architectures()) {
    if (architecture < 75) continue;
    EXPECT_EQ(nvrtc->compile(text, "sm_" + std::to_string(architecture)).substr(1, 3), "ELF");
  }
  EXPECT_THROW(nvrtc->compile("no C", "sm_80"), InternalError);
}

TEST(Nvrtc, ChoosesWhatADeviceCanRun) {
  const std::vector<int> known = {75, 80, 86, 90, 100};
  EXPECT_EQ(architecture_for(90, known), "sm_90");
  EXPECT_EQ(architecture_for(89, known), "sm_86");         // of the same generation
  EXPECT_EQ(architecture_for(120, known), "compute_100");  // newer than all
  EXPECT_THROW(architecture_for(70, known), UserError);
}

}  // namespace
}  // namespace graphrun::cuda
