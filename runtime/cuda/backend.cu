// CUDA's side of runtime/backend.h. Memory comes from the driver once for each buffer; graphs have one arena each.
#include <cuda_runtime.h>

#include "runtime/cuda/launch.h"
#include "runtime/cuda_library.h"

namespace graphrun::cuda {
namespace {

class CudaBackend : public Backend {
 public:
  CudaBackend(int ordinal, const cudaDeviceProp& properties) : ordinal_(ordinal), name_(properties.name) {
    name_ += " (compute capability " + std::to_string(properties.major) + "." + std::to_string(properties.minor) + ")";
    use();
    limits_ = {properties.multiProcessorCount, 256, properties.sharedMemPerBlockOptin};
    check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
  }
  std::string name() const override { return name_; }

  void* allocate(std::size_t bytes) override {
    use();
    void* memory = nullptr;
    if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
    cudaGetLastError();  // is no longer the last
    return nullptr;
  }
  void release(void* memory) override {
    if (cudaStreamSynchronize(stream_) == cudaSuccess) cudaFree(memory);
  }
  void to_device(void* to, const void* from, std::size_t bytes) override {
    move(to, from, bytes, cudaMemcpyHostToDevice);
    wait();
  }
  void to_host(void* to, const void* from, std::size_t bytes) override {
    move(to, from, bytes, cudaMemcpyDeviceToHost);
    wait();
  }
  void copy(void* to, const void* from, std::size_t bytes) override { move(to, from, bytes, cudaMemcpyDeviceToDevice); }
  void clear(void* memory, std::size_t bytes) override {
    if (bytes > 0) check(cudaMemsetAsync(memory, 0, bytes, stream_), "clearing memory");
  }
  void* stream() override { return stream_; }
  DeviceLimits limits() const override { return limits_; }
  void wait() override { check(cudaStreamSynchronize(stream_), "a run on the device"); }

 private:
  void use() const { check(cudaSetDevice(ordinal_), "choosing the device"); }
  void move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "copying memory");
  }

  int ordinal_;
  std::string name_;
  DeviceLimits limits_;
  cudaStream_t stream_ = nullptr;
};

Backend* open(int ordinal, std::string& why) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess || count == 0) {
    why = status == cudaErrorInsufficientDriver
              ? "there is no NVIDIA driver, or one that is too old for CUDA " + std::to_string(CUDART_VERSION / 1000)
          : status == cudaSuccess || status == cudaErrorNoDevice ? "the driver knows no GPU"
                                                                 : cudaGetErrorString(status);
    return nullptr;
  }
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
  return new CudaBackend(ordinal, properties);  // lives as long as the program
}

}  // namespace
}  // namespace graphrun::cuda

extern "C" graphrun::Backend* graphrun_open_device(int ordinal, std::string& why) {
  try {
    return graphrun::cuda::open(ordinal, why);
  } catch (const graphrun::UserError& error) {
    why = error.what();
    return nullptr;
  }
}
