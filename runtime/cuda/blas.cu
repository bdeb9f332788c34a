// Matrix products with cuBLAS. Its results are deterministic as long as only one stream uses a handle, as here.
#include "runtime/cuda/blas.h"

#include <cublas_v2.h>

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "runtime/cuda/backend.h"
#include "runtime/cuda/launch.h"

namespace graphrun::cuda {
namespace {

void check_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "no memory for a matrix product's scratch space on the device");
  }
  throw UserError(ExitCode::kRunFailed, "E0513 cuda", std::string("cuBLAS: ") + cublasGetStatusString(status));
}

// One handle for each stream that multiplies, with its own workspace: left to itself, the library would allocate a new one for
// each recorded run.
struct Blas {
  cublasHandle_t handle = nullptr;
  bool matrix_units = false;  // of the stream's device
};

Blas open_blas(cudaStream_t stream) {
  constexpr std::size_t kScratchBytes = std::size_t{32} << 20;  // cuBLAS's recommendation for the largest devices
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "asking for the device");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for the compute capability");
  void* scratch = nullptr;
  const cudaError_t status = cudaMalloc(&scratch, kScratchBytes);
  if (status != cudaSuccess) cudaGetLastError();  // clear the last error
  if (status == cudaErrorMemoryAllocation) check_blas(CUBLAS_STATUS_ALLOC_FAILED);
  check(status, "scratch space for matrix products");
  Blas blas{nullptr, has_matrix_units(major)};
  if (const cublasStatus_t created = cublasCreate(&blas.handle); created != CUBLAS_STATUS_SUCCESS) {
    cudaFree(scratch);
    check_blas(created);
  }
  check_blas(cublasSetStream(blas.handle, stream));
  check_blas(cublasSetWorkspace(blas.handle, scratch, kScratchBytes));
  return blas;
}

// The stream's device is in use. Handles stay until the program ends.
const Blas& blas_for(void* stream) {
  static std::mutex mutex;
  static std::map<void*, Blas> all;
  const std::lock_guard lock(mutex);
  auto found = all.find(stream);
  if (found == all.end()) found = all.emplace(stream, open_blas(static_cast<cudaStream_t>(stream))).first;
  return found->second;
}

// Streams beside one, and the events that order their work. They stay until the program ends.
struct SideStreams {
  static constexpr std::size_t kMost = 3;
  cudaStream_t streams[kMost] = {};
  cudaEvent_t ended[kMost] = {}, begun = nullptr;

  SideStreams() {
    check(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming), "an event");
    for (std::size_t i = 0; i < kMost; ++i) {
      check(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking), "a stream");
      check(cudaEventCreateWithFlags(&ended[i], cudaEventDisableTiming), "an event");
    }
  }
};

// The stream's device is in use.
const SideStreams& side_streams_of(void* stream) {
  static std::mutex mutex;
  static std::map<void*, SideStreams> all;
  const std::lock_guard lock(mutex);
  return all[stream];
}

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasComputeType_t compute_type(const Blas& blas, ProductPrecision precision) {
  if (!blas.matrix_units) return CUBLAS_COMPUTE_32F;
  switch (precision) {
    case ProductPrecision::kTf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case ProductPrecision::kBFloat16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    case ProductPrecision::kFloat32: break;
  }
  return CUBLAS_COMPUTE_32F;
}

template <class T>
void multiply(const Blas& blas, const ColumnMajorCall& p, cudaDataType type, cublasComputeType_t compute, const T* first,
              const T* second, T* result) {
  const T alpha = 1, beta = static_cast<T>(p.beta);
  check_blas(cublasGemmStridedBatchedEx_64(blas.handle, operation(p.transpose_first), operation(p.transpose_second), p.m, p.n,
                                           p.k, &alpha, first, type, p.first_rows, p.first_step, second, type, p.second_rows,
                                           p.second_step, &beta, result, type, p.result_rows, p.result_step, p.count, compute,
                                           CUBLAS_GEMM_DEFAULT));
}

}  // namespace

void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const float* first,
                           const float* second, float* result) {
  const Blas& blas = blas_for(stream);
  multiply(blas, call, CUDA_R_32F, compute_type(blas, precision), first, second, result);
}
void multiply_column_major(void* stream, const ColumnMajorCall& call, const std::uint16_t* first, const std::uint16_t* second,
                           float* result) {
  const Blas& blas = blas_for(stream);
  const float alpha = 1, beta = static_cast<float>(call.beta);
  check_blas(cublasGemmEx_64(blas.handle, operation(call.transpose_first), operation(call.transpose_second), call.m, call.n,
                             call.k, &alpha, first, CUDA_R_16BF, call.first_rows, second, CUDA_R_16BF, call.second_rows, &beta,
                             result, CUDA_R_32F, call.result_rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}
bool has_matrix_units_on(void* stream) { return blas_for(stream).matrix_units; }
void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision, const double* first,
                           const double* second, double* result) {
  multiply(blas_for(stream), call, CUDA_R_64F, CUBLAS_COMPUTE_64F, first, second, result);
}

void side_by_side(void* stream, std::size_t count, const std::function<void(std::size_t, void*)>& work) {
  if (count < 2) {
    for (std::size_t i = 0; i < count; ++i) work(i, stream);
    return;
  }
  const SideStreams& side = side_streams_of(stream);
  const std::size_t used = std::min(count - 1, SideStreams::kMost);
  check(cudaEventRecord(side.begun, static_cast<cudaStream_t>(stream)), "an event");
  for (std::size_t i = 0; i < used; ++i)
    check(cudaStreamWaitEvent(side.streams[i], side.begun, 0), "waiting for another stream");
  std::exception_ptr failure;  // streams are joined even after a failure: a recording cannot end with a forked stream
  try {
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t turn = i % (used + 1);
      work(i, turn == 0 ? stream : static_cast<void*>(side.streams[turn - 1]));
    }
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::size_t i = 0; i < used; ++i) {
    check(cudaEventRecord(side.ended[i], side.streams[i]), "an event");
    check(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), side.ended[i], 0), "waiting for another stream");
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace graphrun::cuda
