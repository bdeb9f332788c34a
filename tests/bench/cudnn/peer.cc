// A peer of bench_layer that calls cuDNN directly: one layer of LSTM or GRU, with the fastest algorithm that cuDNN has.
//
//   bench_layer --device cuda --peer-name cuDNN --peer "cudnn_peer [lstm|gru]" atr 50 64 1024 1024
//
// Has the same protocol as tests/bench/torch_peer.py. If a cell is named, every layer has that cell; else cells that cuDNN
// lacks are refused. "products bfloat16" tries bfloat16 and float16, "tf32" float32 on matrix units. Links only cuDNN and
// CUDA's run-time library.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(cudaError_t status) {
  if (status != cudaSuccess) throw std::runtime_error(cudaGetErrorString(status));
}
void check(cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw std::runtime_error(cudnnGetErrorString(status));
}

// A descriptor with the functions that create and destroy it.
template <class T, cudnnStatus_t (*create)(T*), cudnnStatus_t (*destroy)(T)>
class Owned {
 public:
  Owned() { check(create(&of_)); }
  ~Owned() { destroy(of_); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  operator T() const { return of_; }

 private:
  T of_;
};
using Handle = Owned<cudnnHandle_t, cudnnCreate, cudnnDestroy>;
using Rnn = Owned<cudnnRNNDescriptor_t, cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor>;
using Sequence = Owned<cudnnRNNDataDescriptor_t, cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor>;
using State = Owned<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using Dropout = Owned<cudnnDropoutDescriptor_t, cudnnCreateDropoutDescriptor, cudnnDestroyDropoutDescriptor>;

// Zeros, or small numbers of both signs: on zeros a GPU draws less power and is faster than on real data.
class Memory {
 public:
  explicit Memory(std::size_t bytes) {
    check(cudaMalloc(&of_, std::max<std::size_t>(bytes, 1)));
    check(cudaMemset(of_, 0, std::max<std::size_t>(bytes, 1)));
  }
  Memory(std::size_t count, cudnnDataType_t type) : Memory(count * (type == CUDNN_DATA_FLOAT ? 4 : 2)) {
    std::mt19937 random(1);
    std::uniform_real_distribution<float> uniform(-0.05f, 0.05f);
    std::vector<float> whole(type == CUDNN_DATA_FLOAT ? count : 0);
    std::vector<std::uint16_t> halves(type == CUDNN_DATA_FLOAT ? 0 : count);
    for (float& x : whole) x = uniform(random);
    for (std::uint16_t& x : halves) {
      const float number = uniform(random);
      const __half half = __float2half(number);
      const __nv_bfloat16 brain = __float2bfloat16(number);
      std::memcpy(&x, type == CUDNN_DATA_HALF ? static_cast<const void*>(&half) : &brain, sizeof x);
    }
    const void* const from = type == CUDNN_DATA_FLOAT ? static_cast<const void*>(whole.data()) : halves.data();
    check(cudaMemcpy(of_, from, count * (type == CUDNN_DATA_FLOAT ? 4 : 2), cudaMemcpyHostToDevice));
  }
  ~Memory() { cudaFree(of_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  void* get() const { return of_; }

 private:
  void* of_ = nullptr;
};

struct Algorithm {
  cudnnRNNAlgo_t algorithm;
  cudnnDataType_t type;
  cudnnMathType_t math;
  std::string name;
};

std::vector<Algorithm> algorithms(const std::string& products) {
  struct Number {
    cudnnDataType_t type;
    cudnnMathType_t math;
    const char* name;
  };
  std::vector<Number> numbers = {{CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, "float32"}};
  if (products == "tf32") numbers = {{CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, "tf32"}};
  if (products == "bfloat16") {
    numbers = {{CUDNN_DATA_BFLOAT16, CUDNN_TENSOR_OP_MATH, "bfloat16"}, {CUDNN_DATA_HALF, CUDNN_TENSOR_OP_MATH, "float16"}};
  }
  std::vector<Algorithm> all;
  for (const Number& number : numbers) {
    for (const auto& [algorithm, name] :
         {std::pair(CUDNN_RNN_ALGO_STANDARD, "standard"), std::pair(CUDNN_RNN_ALGO_PERSIST_STATIC, "persist-static"),
          std::pair(CUDNN_RNN_ALGO_PERSIST_DYNAMIC, "persist-dynamic"),
          std::pair(CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H, "persist-static-small-h")}) {
      all.push_back({algorithm, number.type, number.math, std::string(name) + "-" + number.name});
    }
  }
  return all;
}

struct Sizes {
  int time, batch, width, hidden;
  bool ragged;  // from all steps down to half of them
  std::vector<int> lengths() const {
    std::vector<int> lengths;
    for (int b = 0; b < batch; ++b) lengths.push_back(ragged ? time - b * (time / 2) / batch : time);
    return lengths;
  }
};

// A layer of one direction over whole sequences, starting from zeros; the gradient of its output is given.
class Layer {
 public:
  Layer(const Handle& handle, cudnnRNNMode_t cell, const Sizes& s, bool forward_only, const Algorithm& how)
      : handle_(handle), mode_(forward_only ? CUDNN_FWD_MODE_INFERENCE : CUDNN_FWD_MODE_TRAINING), how_(how) {
    check(cudnnSetDropoutDescriptor(dropout_, handle, 0, nullptr, 0, 0));
    // The persistent algorithms support no other bias mode.
    check(cudnnSetRNNDescriptor_v8(rnn_, how.algorithm, cell, CUDNN_RNN_DOUBLE_BIAS, CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
                                   how.type, CUDNN_DATA_FLOAT, how.math, s.width, s.hidden, s.hidden, 1, dropout_, 0));
    if (how.algorithm == CUDNN_RNN_ALGO_PERSIST_DYNAMIC) check(cudnnBuildRNNDynamic(handle, rnn_, s.batch));
    const std::vector<int> lengths = s.lengths();  // longest first, as packed sequences require
    check(cudnnSetRNNDataDescriptor(x_, how.type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, s.time, s.batch, s.width,
                                    lengths.data(), nullptr));
    check(cudnnSetRNNDataDescriptor(y_, how.type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, s.time, s.batch, s.hidden,
                                    lengths.data(), nullptr));
    const std::array<int, 3> state = {1, s.batch, s.hidden}, steps = {s.batch * s.hidden, s.hidden, 1};
    check(cudnnSetTensorNdDescriptor(state_, how.type, 3, state.data(), steps.data()));
    check(cudnnGetRNNWeightSpaceSize(handle, rnn_, &weight_bytes_));
    check(cudnnGetRNNTempSpaceSizes(handle, rnn_, mode_, x_, &work_bytes_, &reserve_bytes_));

    const std::size_t rows = static_cast<std::size_t>(s.time) * static_cast<std::size_t>(s.batch);
    const std::size_t in = rows * static_cast<std::size_t>(s.width), out = rows * static_cast<std::size_t>(s.hidden);
    const std::size_t weights = weight_bytes_ / (how.type == CUDNN_DATA_FLOAT ? 4 : 2);
    for (std::size_t count : {in, in, out, out, weights, weights}) memory_.push_back(std::make_unique<Memory>(count, how.type));
    for (std::size_t bytes : {work_bytes_, reserve_bytes_}) memory_.push_back(std::make_unique<Memory>(bytes));
    lengths_ = std::make_unique<Memory>(lengths.size() * sizeof(int));
    check(cudaMemcpy(lengths_->get(), lengths.data(), lengths.size() * sizeof(int), cudaMemcpyHostToDevice));
  }

  const std::string& name() const { return how_.name; }

  void run() const {
    enum { kX, kDx, kY, kDy, kWeights, kDWeights, kWork, kReserve };
    const auto at = [&](int which) { return memory_[static_cast<std::size_t>(which)]->get(); };
    const auto* lengths = static_cast<const std::int32_t*>(lengths_->get());
    check(cudnnRNNForward(handle_, rnn_, mode_, lengths, x_, at(kX), y_, at(kY), state_, nullptr, nullptr, state_, nullptr,
                          nullptr, weight_bytes_, at(kWeights), work_bytes_, at(kWork), reserve_bytes_, at(kReserve)));
    if (mode_ == CUDNN_FWD_MODE_TRAINING) {
      check(cudnnRNNBackwardData_v8(handle_, rnn_, lengths, y_, at(kY), at(kDy), x_, at(kDx), state_, nullptr, nullptr, nullptr,
                                    state_, nullptr, nullptr, nullptr, weight_bytes_, at(kWeights), work_bytes_, at(kWork),
                                    reserve_bytes_, at(kReserve)));
      check(cudaMemsetAsync(at(kDWeights), 0, weight_bytes_));  // the call accumulates into them
      check(cudnnRNNBackwardWeights_v8(handle_, rnn_, CUDNN_WGRAD_MODE_ADD, lengths, x_, at(kX), state_, nullptr, y_, at(kY),
                                       weight_bytes_, at(kDWeights), work_bytes_, at(kWork), reserve_bytes_, at(kReserve)));
    }
    check(cudaDeviceSynchronize());
  }
  double milliseconds() const {
    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    run();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  }

 private:
  const Handle& handle_;
  cudnnForwardMode_t mode_;
  Algorithm how_;
  Dropout dropout_;
  Rnn rnn_;
  Sequence x_, y_;
  State state_;
  std::size_t weight_bytes_ = 0, work_bytes_ = 0, reserve_bytes_ = 0;
  std::vector<std::unique_ptr<Memory>> memory_;
  std::unique_ptr<Memory> lengths_;
};

// The fastest algorithm for these sizes; null if there is none.
std::unique_ptr<Layer> fastest(const Handle& handle, cudnnRNNMode_t cell, const Sizes& sizes, bool forward_only,
                               const std::string& products) {
  std::unique_ptr<Layer> best;
  double least = 0;
  for (const Algorithm& how : algorithms(products)) {
    try {
      auto layer = std::make_unique<Layer>(handle, cell, sizes, forward_only, how);
      layer->run();
      double time = layer->milliseconds();
      for (int i = 0; i < 9; ++i) time = std::min(time, layer->milliseconds());
      std::cerr << "cudnn_peer: " << how.name << ' ' << time << " ms\n";
      if (best == nullptr || time < least) best = std::move(layer), least = time;
    } catch (const std::exception& error) {
      std::cerr << "cudnn_peer: " << how.name << ": " << error.what() << '\n';
      cudaGetLastError();  // clear the error of an unsupported algorithm
    }
  }
  return best;
}

std::string answer(const Handle& handle, const std::string& line, const std::string& every, std::string& products,
                   std::unique_ptr<Layer>& layer) {
  std::istringstream words(line);
  std::string kind, cell;
  words >> kind;
  if (kind == "device") return "ready cuda";
  if (kind == "products") {
    words >> products;
    return "ready " + products;
  }
  if (kind == "memory") return "0.0";
  if (kind == "time") {
    int times = 1;
    words >> times;
    std::ostringstream out;
    for (int i = 0; i < times; ++i) out << (i == 0 ? "" : " ") << (layer ? layer->milliseconds() : 0);
    return out.str();
  }
  if (kind != "layer" && kind != "forward" && kind != "ragged") return "none cuDNN has layers alone";
  Sizes sizes{};
  sizes.ragged = kind == "ragged";
  words >> cell >> sizes.time >> sizes.batch >> sizes.width >> sizes.hidden;
  if (!every.empty()) cell = every;
  if (!words || (cell != "lstm" && cell != "gru")) return "none cuDNN has no such cell";
  layer.reset();  // frees its memory
  layer = fastest(handle, cell == "lstm" ? CUDNN_LSTM : CUDNN_GRU, sizes, kind == "forward", products);
  return layer ? "ready " + layer->name() : "none cuDNN has no algorithm for it";
}

}  // namespace

int main(int count, char** arguments) {
  const std::string every = count > 1 ? arguments[1] : "";
  std::string products = "float32", line;
  std::unique_ptr<Handle> handle;
  std::unique_ptr<Layer> layer;
  while (std::getline(std::cin, line)) {
    std::string said;
    try {
      if (handle == nullptr) handle = std::make_unique<Handle>();
      said = answer(*handle, line, every, products, layer);
    } catch (const std::exception& error) {
      said = std::string("none ") + error.what();
    }
    std::cout << said << std::endl;
  }
  return 0;
}
