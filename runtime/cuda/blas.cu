// Matrix products with cuBLAS. Its results are deterministic as long as only one stream at a time uses a handle, as here.
#include "runtime/cuda/blas.h"

#include <cublas_v2.h>

#include <string>

#include "runtime/cuda/launch.h"
#include "runtime/device/cuda_library.h"

namespace graphrun::cuda {
namespace {

void check_blas(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) {
    throw UserError(ExitCode::kNoRoom, "E0503 out-of-memory", "no memory for a matrix product's scratch space on the device");
  }
  throw UserError(ExitCode::kRunFailed, "E0513 cuda", std::string("cuBLAS: ") + cublasGetStatusString(status));
}

// One handle for one stream, with its own workspace: left to itself, the library would allocate a new one for each recorded
// run.
cublasHandle_t handle_for(void* stream) {
  constexpr std::size_t kScratchBytes = std::size_t{32} << 20;  // cuBLAS's recommendation for the largest devices
  static cublasHandle_t handle = nullptr;
  static void* of = nullptr;
  if (handle == nullptr) check_blas(cublasCreate(&handle));
  if (of == stream) return handle;
  static void* const scratch = [] {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, kScratchBytes);
    if (status != cudaSuccess) cudaGetLastError();  // clear the last error
    if (status == cudaErrorMemoryAllocation) check_blas(CUBLAS_STATUS_ALLOC_FAILED);
    check(status, "scratch space for matrix products");
    return memory;
  }();
  check_blas(cublasSetStream(handle, static_cast<cudaStream_t>(stream)));
  check_blas(cublasSetWorkspace(handle, scratch, kScratchBytes));
  of = stream;
  return handle;
}

cublasOperation_t operation(bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; }

cublasComputeType_t compute_type(ProductPrecision precision) {
  static const bool matrix_units = cuda_device().limits().matrix_units;
  if (!matrix_units) return CUBLAS_COMPUTE_32F;
  switch (precision) {
    case ProductPrecision::kTf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case ProductPrecision::kBFloat16: return CUBLAS_COMPUTE_32F_FAST_16BF;
    case ProductPrecision::kFloat32: break;
  }
  return CUBLAS_COMPUTE_32F;
}

template <class T>
void multiply(void* stream, const ColumnMajorCall& p, cudaDataType type, cublasComputeType_t compute, const T* first,
              const T* second, T* result) {
  const T alpha = 1, beta = static_cast<T>(p.beta);
  check_blas(cublasGemmStridedBatchedEx_64(handle_for(stream), operation(p.transpose_first), operation(p.transpose_second), p.m,
                                           p.n, p.k, &alpha, first, type, p.first_rows, p.first_step, second, type,
                                           p.second_rows, p.second_step, &beta, result, type, p.result_rows, p.result_step,
                                           p.count, compute, CUBLAS_GEMM_DEFAULT));
}

}  // namespace

void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision precision, const float* first,
                           const float* second, float* result) {
  multiply(stream, call, CUDA_R_32F, compute_type(precision), first, second, result);
}
void multiply_column_major(void* stream, const ColumnMajorCall& call, ProductPrecision, const double* first,
                           const double* second, double* result) {
  multiply(stream, call, CUDA_R_64F, CUBLAS_COMPUTE_64F, first, second, result);
}

}  // namespace graphrun::cuda
