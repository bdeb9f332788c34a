// Communicators are not blocking: a call that would wait for other processes returns at once and is asked for its state, so
// that it can be aborted when a process is lost.
#include "runtime/cuda/nccl.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>
#include <thread>
#include <type_traits>

#include "runtime/base/module.h"
#include "runtime/base/status.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/toolkit.h"
#include "runtime/tensor/backend.h"

namespace graphrun::cuda {
namespace {

using NcclClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kSpinning{20};           // how long a wait keeps its core
constexpr std::chrono::microseconds kBetweenQuestions{100};  // between two polls after that
constexpr std::chrono::seconds kToLearnWhy{3};               // NCCL may notice a lost process before the communicator does

void* open_nccl(std::string& why) {
  const char* const named = std::getenv("GRAPHRUN_NCCL_LIBRARY");
  std::string name = named == nullptr ? "" : named;
#if defined(__CUDACC__)
  if (name.empty()) {
    void* const found = open_of_toolkit({"libnccl.so.2"});
    if (found == nullptr) why = "there is no libnccl.so.2 on the library search path, nor under $CUDA_HOME or /usr/local/cuda";
    return found;
  }
#else
  if (name.empty()) name = library_folder() / "libnccl_emulated.so";
#endif
  void* const found = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (found == nullptr) why = std::string("its library does not load: ") + dlerror();
  return found;
}

// The sum of the arrays of several processes, element by element in the order of ranks.
struct OrderedAddition {
  DeviceGroup::Addition a;
  GRAPHRUN_DEVICE void operator()(std::int64_t i) const {
    float sum = a.before == nullptr ? 0.0f : a.before[i];
    for (int rank = a.first; rank <= a.last; ++rank) {
      const auto place = static_cast<std::int64_t>(rank < a.me ? rank : rank - 1);
      const float x = rank == a.me ? a.own[i] : a.received[place * static_cast<std::int64_t>(a.count) + i];
      sum = rank == a.first && a.before == nullptr ? x : sum + x;
    }
    a.sum[i] = sum;
  }
};

class NcclGroup : public DeviceGroup {
 public:
  NcclGroup(const NcclFunctions& nccl, Backend& device, Communicator& together)
      : nccl_(nccl), device_(device), together_(together) {
    device_.use();
    NcclId id = {};
    if (rank() == 0) check_result(nccl_.get_unique_id(&id), "an identifier");
    const std::string first = together_.broadcast({id.bytes, sizeof id.bytes});
    std::memcpy(id.bytes, first.data(), sizeof id.bytes);
    NcclConfig config;
    check_result(nccl_.comm_init_rank_config(&comm_, size(), id, rank(), &config), "joining the other processes");
    settle("joining the other processes");
  }

  // A process that fails does not wait for the others.
  ~NcclGroup() override {
    if (comm_ != nullptr) (std::uncaught_exceptions() > 0 ? nccl_.comm_abort : nccl_.comm_destroy)(comm_);
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  Backend& device() override { return device_; }
  int rank() const override { return together_.rank(); }
  int size() const override { return together_.size(); }

  void exchange(std::span<const Piece> pieces) override {
    if (pieces.empty()) return;
    device_.use();
    check_result(nccl_.group_start(), "an exchange");
    for (const Piece& piece : pieces) {
      check_result(piece.send != nullptr
                       ? nccl_.send(piece.send, piece.count, kNcclFloat32, piece.peer, comm_, device_.stream())
                       : nccl_.receive(piece.receive, piece.count, kNcclFloat32, piece.peer, comm_, device_.stream()),
                   "an exchange");
    }
    check_result(nccl_.group_end(), "an exchange");
    settle("an exchange");
  }

  void share(float* array, std::size_t each) override {
    device_.use();
    const float* const own = array + each * static_cast<std::size_t>(rank());
    check_result(nccl_.all_gather(own, array, each, kNcclFloat32, comm_, device_.stream()), "sharing an array");
    settle("sharing an array");
  }

  void add_in_any_order(float* array, std::size_t count) override {
    device_.use();
    check_result(nccl_.all_reduce(array, array, count, kNcclFloat32, kNcclSum, comm_, device_.stream()), "a sum");
    settle("a sum");
  }

  void add(const Addition& addition) override {
    device_.use();
    const auto count = static_cast<std::int64_t>(addition.count);
    if (count == 0) return;
    launch(device_.stream(), grid_of_elements(count), &elements_kernel<OrderedAddition>, OrderedAddition{addition}, count);
  }

  void wait() override {
#if defined(__CUDACC__)
    until([this] {
      const cudaError_t status = cudaStreamQuery(static_cast<cudaStream_t>(device_.stream()));
      if (status == cudaErrorNotReady) {
        cudaGetLastError();  // clear it: it is not an error, but the next launch would report it
      } else {
        cuda::check(status, "a run on the device");
      }
      NcclResult state = kNcclSuccess;  // a network may fail
      check_result(nccl_.comm_get_async_error(comm_, &state), "the state of an exchange");
      check_result(state, "an exchange");
      return status == cudaSuccess;
    });
#else
    device_.wait();
#endif
  }

 private:
  // Waits until the last call is no longer in progress, that is, until it has put its work into the stream.
  void settle(const char* what) {
    until([&] {
      NcclResult state = kNcclSuccess;
      check_result(nccl_.comm_get_async_error(comm_, &state), what);
      check_result(state, what);
      return state != kNcclInProgress;
    });
  }

  // Waits until `done` returns true. If a process is lost meanwhile, aborts: nothing else would end work that waits for it.
  void until(const std::function<bool()>& done) {
    const NcclClock::time_point begun = NcclClock::now();
    while (true) {
      try {
        if (done()) return;
        together_.check();
      } catch (...) {
        abort();
        throw;
      }
      if (NcclClock::now() - begun < kSpinning) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kBetweenQuestions);
      }
    }
  }

  void abort() {
    if (comm_ != nullptr) nccl_.comm_abort(comm_);
    comm_ = nullptr;
  }

  void check_result(NcclResult result, const char* what) {
    if (result == kNcclSuccess || result == kNcclInProgress) return;
    std::string text = std::string("NCCL, ") + what + ": " + nccl_.get_error_string(result);
    const char* const last = comm_ == nullptr ? nullptr : nccl_.get_last_error(comm_);
    if (last != nullptr && *last != '\0') text += std::string(": ") + last;
    abort();
    for (const NcclClock::time_point begun = NcclClock::now(); NcclClock::now() - begun < kToLearnWhy;) {
      together_.check();
      std::this_thread::sleep_for(kBetweenQuestions);
    }
    throw UserError(ExitCode::kRunFailed, "E0513 cuda", text);
  }

  const NcclFunctions& nccl_;
  Backend& device_;
  Communicator& together_;
  NcclComm comm_ = nullptr;
};

}  // namespace

const NcclFunctions* nccl_functions(std::string& why) {
  struct Loaded {
    NcclFunctions functions;
    std::string missing;
  };
  static const Loaded loaded = [] {
    Loaded made;
    void* const library = open_nccl(made.missing);
    if (library == nullptr) return made;
    made.functions.each([&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
      if (function == nullptr && made.missing.empty()) made.missing = std::string("its library has no function ") + name;
    });
    int version = kOldestNccl;
    if (made.functions.get_version != nullptr) made.functions.get_version(&version);
    if (version < kOldestNccl) made.missing = "its library is older than NCCL 2.14";
    return made;
  }();
  why = loaded.missing;
  return loaded.missing.empty() ? &loaded.functions : nullptr;
}

std::string nccl_version(std::string& why) {
  const NcclFunctions* const nccl = nccl_functions(why);
  if (nccl == nullptr) return "";
  int version = 0;
  nccl->get_version(&version);
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::unique_ptr<DeviceGroup> join_nccl(Backend& device, Communicator& together) {
  std::string why;
  const NcclFunctions* const nccl = nccl_functions(why);
  GRAPHRUN_CHECK(nccl != nullptr, "NCCL: " + why);
  return std::make_unique<NcclGroup>(*nccl, device, together);
}

}  // namespace graphrun::cuda
