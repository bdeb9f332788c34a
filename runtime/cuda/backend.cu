// Memory is allocated from the device's pool in stream order, and freed to it: allocating a run's results never synchronizes.
// On a device without pools, each allocation goes to the driver.
#include "runtime/cuda/backend.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/cuda/launch.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/program/program.h"

namespace graphrun::cuda {
namespace {

GRAPHRUN_GLOBAL void nothing() {}

// For clusters of blocks that each occupy a multiprocessor.
std::array<int, 4> count_clusters(const DeviceLimits& limits) {
  std::array<int, 4> counts = {};
  cudaFuncSetAttribute(nothing, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(limits.shared));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto blocks = static_cast<unsigned>(DeviceLimits::cluster_size(i));
    cudaLaunchAttribute size;
    size.id = cudaLaunchAttributeClusterDimension;
    size.val.clusterDim.x = blocks;
    size.val.clusterDim.y = size.val.clusterDim.z = 1;
    cudaLaunchConfig_t launch = {};
    launch.gridDim = dim3(blocks), launch.blockDim = dim3(static_cast<unsigned>(limits.threads));
    launch.dynamicSmemBytes = limits.shared;
    launch.attrs = &size, launch.numAttrs = 1;
    if (cudaOccupancyMaxActiveClusters(&counts[i], nothing, &launch) != cudaSuccess) counts[i] = 0;
  }
  cudaGetLastError();  // an unsupported cluster size is not an error
  return counts;
}

// As nvidia-smi writes it.
std::string text_of(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

class CudaBackend : public Backend {
 public:
  CudaBackend(int ordinal, const cudaDeviceProp& properties)
      : ordinal_(ordinal), name_(properties.name), uuid_(text_of(properties.uuid)) {
    name_ += " (compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor) + ")";
    use();
    limits_ = {properties.multiProcessorCount, 256, properties.sharedMemPerBlockOptin, has_matrix_units(properties.major), {}};
    if (properties.major >= 9 && is_wanted("GRAPHRUN_CUDA_CLUSTERS")) limits_.clusters = count_clusters(limits_);
    limits_.splits_float32 = limits_.matrix_units;
    limits_.row_loops = is_wanted("GRAPHRUN_CUDA_ROW_LOOPS");
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
    current_ = stream_;
    open_pool();
  }
  std::string name() const override { return name_; }
  std::string uuid() const override { return uuid_; }
  void use() override { check(cudaSetDevice(ordinal_), "choosing the device"); }

  void* allocate(std::size_t bytes) override {
    use();
    void* memory = nullptr;
    cudaError_t status = take(&memory, bytes);
    if (status == cudaErrorMemoryAllocation && has_pool_) {  // freed memory may still be in use or fragmented
      cudaGetLastError();                                    // clear the last error
      wait();
      check(cudaMemPoolTrimTo(pool_, 0), "giving memory back");
      status = take(&memory, bytes);
    }
    if (status == cudaSuccess) return memory;
    cudaGetLastError();
    // Any other error comes from an earlier kernel.
    if (status != cudaErrorMemoryAllocation) check(status, "a run on the device");
    return nullptr;
  }
  void release(void* memory) override {
    if (has_pool_) {
      cudaFreeAsync(memory, stream_);
    } else if (cudaStreamSynchronize(stream_) == cudaSuccess) {
      cudaFree(memory);
    }
  }
  // Through pinned memory, which the device reads by itself: the host does not wait, unless all pinned pages are in flight.
  void to_device(void* to, const void* from, std::size_t bytes) override {
    use();
    for (std::size_t done = 0; done < bytes;) {
      PinnedStage& stage = stages_[next_stage_++ % kStages];
      stage.open();
      const std::size_t piece = std::min(bytes - done, kStageBytes);
      std::memcpy(stage.memory, static_cast<const char*>(from) + done, piece);
      move(static_cast<char*>(to) + done, stage.memory, piece, cudaMemcpyHostToDevice);
      check(cudaEventRecord(stage.read, stream_), "an event");
      done += piece;
    }
  }
  // Small pieces go together, through pinned memory, which the device writes by itself; a copy to pageable memory would wait
  // for each piece.
  using Backend::to_host;
  void to_host(std::span<const ToHost> pieces) override {
    use();
    PinnedStage& stage = stages_[next_stage_ % kStages];
    stage.open();
    std::size_t staged = 0;
    const auto fits = [&](const ToHost& piece) { return staged + piece.bytes <= kStageBytes; };
    for (const ToHost& piece : pieces) {
      if (fits(piece)) {
        move(stage.memory + staged, piece.from, piece.bytes, cudaMemcpyDeviceToHost);
        staged += piece.bytes;
      } else {
        move(piece.to, piece.from, piece.bytes, cudaMemcpyDeviceToHost);
      }
    }
    wait();
    staged = 0;
    for (const ToHost& piece : pieces) {
      if (!fits(piece)) continue;
      std::memcpy(piece.to, stage.memory + staged, piece.bytes);
      staged += piece.bytes;
    }
  }
  // Through a pinned page of its own, which the device writes by itself; pieces too large for a page are waited for now.
  std::shared_ptr<Arrival> to_host_later(std::span<const ToHost> pieces) override {
    use();
    auto arrival = std::make_shared<PendingCopy>(*this);
    std::size_t bytes = 0;
    for (const ToHost& piece : pieces) bytes += piece.bytes;
    if (bytes > kPinnedBytes) {
      to_host(pieces);
      return arrival;
    }
    arrival->open();
    std::size_t at = 0;
    for (const ToHost& piece : pieces) {
      move(arrival->page.memory + at, piece.from, piece.bytes, cudaMemcpyDeviceToHost);
      at += piece.bytes;
    }
    check(cudaEventRecord(arrival->page.written, stream_), "an event");
    arrival->recorded = true;
    arrival->pieces.assign(pieces.begin(), pieces.end());
    return arrival;
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    use();
    move(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void clear(void* memory, std::size_t bytes) override {
    use();
    if (bytes > 0) check(cudaMemsetAsync(memory, 0, bytes, current_), "clearing memory");
  }
  void* stream() override { return current_; }
  DeviceLimits limits() const override { return limits_; }
  void wait() override { check(cudaStreamSynchronize(stream_), "a run on the device"); }

  // Stream 0 is the main stream.
  void auxiliary(std::size_t k) override {
    use();
    if (!forked_) {
      make(fork_);
      check(cudaEventRecord(fork_, stream_), "an event");
      forked_ = true;
    }
    current_ = k == 0 ? stream_ : begin(auxiliary_[k - 1]);
  }
  // Ends the fork even if a call fails.
  void join() override {
    current_ = stream_, forked_ = false;
    cudaError_t failure = cudaSuccess;
    for (AuxiliaryStream& stream : auxiliary_) {
      if (!std::exchange(stream.begun, false)) continue;
      for (cudaError_t status : {cudaEventRecord(stream.end, stream.stream), cudaStreamWaitEvent(stream_, stream.end, 0)}) {
        if (failure == cudaSuccess) failure = status;
      }
    }
    check(failure, "waiting for another stream");
  }

  void record() override {
    use();
    const cudaError_t status = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal);
    // The caller then runs without recording. Reading the last error clears it; otherwise the next launch would report it.
    if (status != cudaSuccess) cudaGetLastError();
    check(status, "recording a run");
  }
  std::shared_ptr<const Recording> recorded() override {
    cudaGraph_t graph = nullptr;
    auto made = std::make_shared<RecordedGraph>();
    cudaError_t status = cudaStreamEndCapture(stream_, &graph);
    if (status == cudaSuccess && graph != nullptr) status = cudaGraphInstantiate(&made->graph, graph, 0);
    if (graph != nullptr) cudaGraphDestroy(graph);
    if (status == cudaSuccess && made->graph != nullptr) return made;
    cudaGetLastError();  // clear the last error
    return nullptr;
  }
  void play(const Recording& recording) override {
    use();
    check(cudaGraphLaunch(static_cast<const RecordedGraph&>(recording).graph, stream_), "the launch of a recorded run");
  }

 private:
  static constexpr std::size_t kStages = 32, kStageBytes = std::size_t{1} << 18;  // the feeds of several steps
  // Pinned host memory, and when the device last read it.
  struct PinnedStage {
    char* memory = nullptr;
    cudaEvent_t read = nullptr;

    void open() {
      if (memory == nullptr) {
        check(cudaMallocHost(&memory, kStageBytes), "memory for copies to the device");
        check(cudaEventCreateWithFlags(&read, cudaEventDisableTiming), "an event");
      } else {
        check(cudaEventSynchronize(read), "a run on the device");
      }
    }
  };
  static constexpr std::size_t kPinnedBytes = 4096;
  struct PinnedPage {
    char* memory = nullptr;
    cudaEvent_t written = nullptr;
  };
  struct PendingCopy : Arrival {
    explicit PendingCopy(CudaBackend& of) : backend(of) {}
    // A page that the device may still write to is not reused.
    ~PendingCopy() override {
      const bool is_written = !under_way || (recorded && cudaEventSynchronize(page.written) == cudaSuccess);
      if (page.memory != nullptr && is_written) backend.pinned_.push_back(page);
    }
    void open() {
      if (!backend.pinned_.empty()) {
        page = backend.pinned_.back();
        backend.pinned_.pop_back();
      } else {
        PinnedPage made;
        make(made.written);
        if (const cudaError_t status = cudaMallocHost(&made.memory, kPinnedBytes); status != cudaSuccess) {
          cudaEventDestroy(made.written);
          check(status, "memory for copies from the device");
        }
        page = made;
      }
      under_way = true;
    }
    void wait() override {
      if (!under_way) return;
      check(cudaEventSynchronize(page.written), "a run on the device");
      under_way = false;
      const char* from = page.memory;
      for (const ToHost& piece : pieces) {
        std::memcpy(piece.to, from, piece.bytes);
        from += piece.bytes;
      }
    }
    CudaBackend& backend;
    PinnedPage page;
    std::vector<ToHost> pieces;
    bool under_way = false, recorded = false;
  };
  struct RecordedGraph : Recording {
    ~RecordedGraph() override {
      if (graph != nullptr) cudaGraphExecDestroy(graph);
    }
    cudaGraphExec_t graph = nullptr;
  };

  struct AuxiliaryStream {
    cudaStream_t stream = nullptr;
    cudaEvent_t end = nullptr;
    bool begun = false;
  };
  cudaStream_t begin(AuxiliaryStream& stream) {
    if (stream.begun) return stream.stream;
    if (stream.stream == nullptr) check(cudaStreamCreateWithFlags(&stream.stream, cudaStreamNonBlocking), "a stream");
    make(stream.end);
    check(cudaStreamWaitEvent(stream.stream, fork_, 0), "waiting for another stream");
    stream.begun = true;
    return stream.stream;
  }
  // An event used for ordering only, without timing.
  static void make(cudaEvent_t& event) {
    if (event == nullptr) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  }

  cudaError_t take(void** memory, std::size_t bytes) {
    return has_pool_ ? cudaMallocAsync(memory, bytes, stream_) : cudaMalloc(memory, bytes);
  }
  // The pool keeps freed memory for this process, unless an allocation needs the space.
  void open_pool() {
    int pools = 0;
    std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
    has_pool_ = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, ordinal_) == cudaSuccess && pools != 0 &&
                cudaDeviceGetDefaultMemPool(&pool_, ordinal_) == cudaSuccess &&
                cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &all) == cudaSuccess;
    if (!has_pool_) cudaGetLastError();  // clear the last error
  }
  void move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, current_), "copying memory");
  }

  int ordinal_;
  std::string name_, uuid_;
  DeviceLimits limits_;
  cudaStream_t stream_ = nullptr, current_ = nullptr;  // current_ receives new work
  cudaEvent_t fork_ = nullptr;                         // the point where the auxiliary streams forked, if they have
  bool forked_ = false;
  std::array<AuxiliaryStream, kMostConcurrent - 1> auxiliary_;
  cudaMemPool_t pool_ = nullptr;
  bool has_pool_ = false;
  std::vector<PinnedPage> pinned_;  // pages not in use by a copy
  PinnedStage stages_[kStages];
  std::size_t next_stage_ = 0;
};

std::unique_ptr<Backend> open(int ordinal, std::string& why) {
  const int count = count_devices(why);
  if (count == 0) return nullptr;
  if (ordinal >= count) {
    why = "there " + std::string(count == 1 ? "is 1 GPU" : "are " + std::to_string(count) + " GPUs") + ", counted from 0";
    return nullptr;
  }
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, ordinal), "asking for the device's properties");
  if (properties.major * 10 + properties.minor < 75) {
    why = std::string(properties.name) + " is of compute capability " + std::to_string(properties.major) + "." +
          std::to_string(properties.minor) + ", at least 7.5 is needed";
    return nullptr;
  }
  if (Nvrtc::instance(why) == nullptr) {
    why = "kernels cannot be compiled: " + why;
    return nullptr;
  }
  return std::make_unique<CudaBackend>(ordinal, properties);
}

}  // namespace

int count_devices(std::string& why) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return count;
  why = status == cudaErrorInsufficientDriver
            ? "there is no NVIDIA driver, or one that is too old for CUDA " + std::to_string(CUDART_VERSION / 1000)
        : status == cudaSuccess || status == cudaErrorNoDevice ? "the driver knows no GPU"
                                                               : cudaGetErrorString(status);
  return 0;
}

std::unique_ptr<Backend> open_backend(int ordinal, std::string& why) {
  try {
    return open(ordinal, why);
  } catch (const UserError& error) {
    why = error.what();
    return nullptr;
  }
}

}  // namespace graphrun::cuda
