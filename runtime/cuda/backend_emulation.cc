// Devices emulated on the host: device memory is host memory, and kernels have finished when they return.
#include <malloc.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/emulation.h"
#include "runtime/program/program.h"
#include "runtime/tensor/tensor.h"

namespace graphrun::cuda {
namespace {

// Two, unless the environment says how many.
int emulated_devices() {
  const char* const asked = std::getenv("GRAPHRUN_EMULATED_DEVICES");
  return asked == nullptr ? 2 : std::atoi(asked);
}

class EmulatedBackend : public Backend {
 public:
  explicit EmulatedBackend(int ordinal) : ordinal_(ordinal) { limits_.row_loops = is_wanted("GRAPHRUN_CUDA_ROW_LOOPS"); }
  std::string name() const override { return "an emulated device"; }
  std::string uuid() const override { return "GPU-emulated-" + std::to_string(ordinal_); }
  void use() override { use_emulated_device(this); }
  void* allocate(std::size_t bytes) override {
    check_nothing_is_noted();
    void* const memory = std::aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    if (memory == nullptr) return nullptr;
    std::memset(memory, 0xA5, bytes);  // reading uninitialized memory yields conspicuous values
    allocated_ += malloc_usable_size(memory);
    return memory;
  }
  void release(void* memory) override {
    check_nothing_is_noted();
    allocated_ -= malloc_usable_size(memory);
    std::free(memory);
  }
  void to_device(void* to, const void* from, std::size_t bytes) override {
    check_nothing_is_noted();
    move(to, from, bytes);
  }
  using Backend::to_host;
  void to_host(std::span<const ToHost> pieces) override {
    check_nothing_is_noted();
    for (const ToHost& piece : pieces) move(piece.to, piece.from, piece.bytes);
  }
  // The copy happens in wait(): without it, nothing arrives.
  std::shared_ptr<Arrival> to_host_later(std::span<const ToHost> pieces) override {
    check_nothing_is_noted();
    auto copy = std::make_shared<PendingCopy>();
    for (const ToHost& piece : pieces) {
      const char* const from = static_cast<const char*>(piece.from);
      copy->pieces.emplace_back(piece.to, std::vector<char>(from, from + piece.bytes));
    }
    return copy;
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    do_or_note([=] { move(to, from, bytes); });
  }
  void clear(void* memory, std::size_t bytes) override {
    do_or_note([=] {
      if (bytes > 0) std::memset(memory, 0, bytes);
    });
  }
  void* stream() override { return this; }
  DeviceLimits limits() const override { return limits_; }
  DeviceLimits& changed_limits() { return limits_; }
  std::size_t allocated() const { return allocated_; }
  void wait() override { check_nothing_is_noted(); }

  // The last stream's work runs first, so work that wrongly depends on an earlier stream fails.
  void auxiliary(std::size_t k) override {
    if (!in_auxiliary_) around_ = noted_work_now();
    in_auxiliary_ = true;
    note_work(&auxiliary_[k]);
  }
  void join() override {
    note_work(around_);
    in_auxiliary_ = false;
    for (std::size_t k = auxiliary_.size(); k-- > 0;) {
      for (auto& work : std::exchange(auxiliary_[k], {})) do_or_note(std::move(work));
    }
  }

  void record() override {
    check_nothing_is_noted();
    noted_ = std::make_shared<Noted>();
    note_work(&noted_->work);
  }
  std::shared_ptr<const Recording> recorded() override {
    note_work(nullptr);
    return std::move(noted_);
  }
  void play(const Recording& recording) override {
    check_nothing_is_noted();
    for (const auto& work : static_cast<const Noted&>(recording).work) work();
  }

 private:
  const int ordinal_;
  std::size_t allocated_ = 0;  // bytes
  // Few threads, since each is a host thread; little memory, so that some loops' weights do not fit.
  DeviceLimits limits_ = {3, 24, 24 << 10, true, {}};

  struct PendingCopy : Arrival {
    std::vector<std::pair<void*, std::vector<char>>> pieces;
    void wait() override {
      for (const auto& [to, bytes] : pieces) move(to, bytes.data(), bytes.size());
    }
  };
  struct Noted : Recording {
    NotedWork work;
  };
  static void check_nothing_is_noted() { GRAPHRUN_CHECK(!is_noted(), "no part of a run that is recorded"); }
  std::shared_ptr<Noted> noted_;
  std::array<NotedWork, kMostConcurrent> auxiliary_;
  NotedWork* around_ = nullptr;  // where work was recorded before the first auxiliary stream
  bool in_auxiliary_ = false;

  static void move(void* to, const void* from, std::size_t bytes) {
    if (bytes > 0) std::memmove(to, from, bytes);
  }
};

}  // namespace

std::unique_ptr<Backend> open_backend(int ordinal, std::string& why) {
  if (ordinal < emulated_devices()) return std::make_unique<EmulatedBackend>(ordinal);
  why = emulated_devices() == 2 ? "two devices are emulated, cuda:0 and cuda:1"
                                : std::to_string(emulated_devices()) + " devices are emulated";
  return nullptr;
}

int count_devices(std::string& why) {
  if (emulated_devices() == 0) why = "no devices are emulated";
  return emulated_devices();
}

}  // namespace graphrun::cuda

extern "C" void graphrun_emulate_backwards(bool backwards) { graphrun::cuda::set_emulation_backwards(backwards); }

// The limits of an emulated device for kernels made from now on; tests may change them.
extern "C" graphrun::DeviceLimits* graphrun_emulated_limits(graphrun::Backend* device) {
  return &static_cast<graphrun::cuda::EmulatedBackend*>(device)->changed_limits();
}

// How many kernels have run on emulated devices.
extern "C" std::size_t graphrun_emulated_launches() { return graphrun::cuda::emulated_launches(); }

// The bytes of an emulated device's memory that are allocated.
extern "C" std::size_t graphrun_emulated_bytes(graphrun::Backend* device) {
  return static_cast<graphrun::cuda::EmulatedBackend*>(device)->allocated();
}
