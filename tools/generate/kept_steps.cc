#include "tools/generate/kept_steps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "runtime/tensor/backend.h"

namespace graphrun {
namespace {

constexpr std::int64_t kStepsOfBlock = 64, kChoices = 3;  // words, parents and gains

std::array<Tensor*, kChoices> choices_of(KeptStep& step) { return {&step.words, &step.parents, &step.gains}; }

}  // namespace

void KeptSteps::clear() { steps_.clear(), blocks_.clear(); }

void KeptSteps::add(KeptStep step) {
  if (!device_.is_cpu()) {
    Backend& backend = device_.backend();
    const std::int64_t at = count() % kStepsOfBlock, places = step.words.count();
    if (at == 0) blocks_.emplace_back(DType::kInt32, Sizes{kStepsOfBlock, kChoices, places}, backend);
    const std::size_t bytes = step.words.bytes();
    auto* to = static_cast<char*>(blocks_.back().device_memory()) + static_cast<std::size_t>(at * kChoices) * bytes;
    for (Tensor* const choice : choices_of(step)) {
      GRAPHRUN_CHECK(choice->bytes() == bytes, "KeptSteps: one choice for each place");
      backend.copy(to, choice->device_memory(), bytes);
      *choice = Tensor();
      to += bytes;
    }
    for (Tensor& fetched : step.fetches) {
      const Tensor result = std::exchange(fetched, Tensor(fetched.dtype(), fetched.sizes(), backend));
      backend.copy(fetched.device_memory(), result.device_memory(), result.bytes());
    }
  }
  steps_.push_back(std::move(step));
}

void KeptSteps::bring_to_host() {
  if (device_.is_cpu() || steps_.empty()) return;
  const std::int64_t places = blocks_.front().sizes().back();
  const std::size_t bytes = static_cast<std::size_t>(places) * sizeof(std::int32_t);
  std::vector<Tensor> on_host;  // by block
  std::vector<Backend::ToHost> pieces;
  for (std::int64_t left = count(), b = 0; left > 0; left -= kStepsOfBlock, ++b) {
    on_host.push_back(Tensor::uninitialized(DType::kInt32, {std::min(left, kStepsOfBlock), kChoices, places}));
    pieces.push_back({on_host.back().raw(), blocks_[static_cast<std::size_t>(b)].device_memory(), on_host.back().bytes()});
  }
  std::vector<Tensor> there;  // keeps what is being copied
  for (KeptStep& step : steps_) {
    for (Tensor& fetched : step.fetches) {
      there.push_back(std::exchange(fetched, Tensor::uninitialized(fetched.dtype(), fetched.sizes())));
      pieces.push_back({fetched.raw(), there.back().device_memory(), fetched.bytes()});
    }
  }
  device_.backend().to_host(pieces);
  blocks_.clear();
  for (std::int64_t t = 0; t < count(); ++t) {
    KeptStep& step = steps_[static_cast<std::size_t>(t)];
    const char* from = on_host[static_cast<std::size_t>(t / kStepsOfBlock)].data<char>() +
                       static_cast<std::size_t>(t % kStepsOfBlock * kChoices) * bytes;
    for (Tensor* const choice : choices_of(step)) {
      *choice = Tensor::uninitialized(choice == &step.gains ? DType::kFloat32 : DType::kInt32, {places});
      if (bytes > 0) std::memcpy(choice->raw(), from, bytes);
      from += bytes;
    }
  }
}

}  // namespace graphrun
