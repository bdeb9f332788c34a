#include "tools/bench/products.h"

#include <algorithm>

#include "compiler/ir/op.h"
#include "ops/matmul/packed.h"
#include "runtime/base/processor.h"
#include "runtime/execute/profiler.h"
#include "runtime/program/kernel.h"
#include "runtime/threads/threads.h"
#include "tools/bench/timing.h"

namespace graphrun {
namespace {

// The shortest of ten times, in milliseconds.
template <class Fn>
double shortest_of_ten(Fn&& fn) {
  double best = 1e30;
  for (int i = 0; i < 10; ++i) {
    const std::int64_t begin = Profiler::now();
    fn();
    best = std::min(best, milliseconds(begin));
  }
  return best;
}

// The whole product, or packed panels for few rows (packing is not measured).
class HostProduct : public ProductAlone {
 public:
  HostProduct(const MatrixProduct& p, std::int64_t times)
      : p_(p),
        grid_(p),
        blocks_(grid_.blocks(), scratch_of_block(p, DType::kFloat32)),
        times_(times),
        packed_(p),
        scratch_(DType::kBool, {static_cast<std::int64_t>(blocks_.workspace())}),
        a_(random_tensor({p.m * p.k}, 1)),
        b_(random_tensor({p.n * p.k}, 1)),
        c_(random_tensor({p.m * p.n}, 1)),
        panels_(random_tensor({static_cast<std::int64_t>(packed_.bytes() / sizeof(float))}, 1)) {
    if (times == 1 || !packed_.available() || p.transpose_a) return;
    packed_.pack(b_.data<float>(), panels_.data<float>(), 0, p.n);
    const double whole = shortest_of_ten([&] { run_whole(); }), panels = shortest_of_ten([&] { run_panels(); });
    by_panels_ = panels < whole;
  }
  void run() const override {
    if (by_panels_) return run_panels();
    for (std::int64_t i = 0; i < times_; ++i) run_whole();
  }

 private:
  void run_whole() const {
    blocks_.run(scratch_.raw(), p_.operations() / static_cast<double>(grid_.blocks()), [&](std::int64_t i, void* scratch) {
      multiply(p_, grid_.block(p_, i), a_.data<float>(), b_.data<float>(), c_.data<float>(), scratch);
    });
  }
  void run_panels() const {
    const std::int64_t panels = (p_.n + packed_.panel() - 1) / packed_.panel(), times = by_panels_ ? times_ : 1;
    parallel_ranges(panels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < times; ++i) {
        packed_.multiply(a_.data<float>(), panels_.data<float>(), c_.data<float>(), begin * packed_.panel(),
                         std::min(p_.n, end * packed_.panel()));
      }
    });
  }

  MatrixProduct p_;
  ProductGrid grid_;
  BlockRunner blocks_;
  std::int64_t times_;
  PackedProduct packed_;
  mutable Tensor scratch_;
  Tensor a_, b_;
  mutable Tensor c_;
  Tensor panels_;
  bool by_panels_ = false;
};

// The same with rounded factors: the whole product by runs of rows that are already rounded, or packed panels for few rows.
class RoundedHostProduct : public ProductAlone {
 public:
  RoundedHostProduct(const MatrixProduct& p, std::int64_t times)
      : p_(p),
        times_(times),
        rounded_(p, kMostPanel),
        a_(random_tensor({p.m * p.k}, 1)),
        b_(random_tensor({p.n * p.k}, 1)),
        c_(random_tensor({p.m * p.n}, 1)),
        left_(rounded_.left_bytes() / sizeof(BFloat16Bits)),
        right_(rounded_.right_bytes() / sizeof(BFloat16Bits)),
        scratch_(static_cast<std::size_t>(threads() * RoundedProduct::scratch())) {
    rounded_.round_left(a_.data<float>(), left_.data(), 0, rounded_.row_runs());
    rounded_.round_right(b_.data<float>(), right_.data(), 0, p.n);
    by_panels_ = times > 1 && !p.transpose_a && shortest_of_ten([&] { run_panels(1); }) < shortest_of_ten([&] { run_whole(); });
  }
  void run() const override {
    if (by_panels_) return run_panels(times_);
    for (std::int64_t i = 0; i < times_; ++i) run_whole();
  }

 private:
  void run_whole() const {
    const std::int64_t runs = rounded_.row_runs(), parts = std::min<std::int64_t>(threads(), runs);
    parallel_ranges(parts, 1, [&](std::int64_t begin, std::int64_t end) {
      rounded_.multiply_block(left_.data(), b_.data<float>(), c_.data<float>(), runs * begin / parts, runs * end / parts, 0,
                              rounded_.panels(), scratch_.data() + begin * RoundedProduct::scratch());
    });
  }
  void run_panels(std::int64_t times) const {
    parallel_ranges(rounded_.panels(), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < times; ++i) {
        rounded_.multiply_rows(a_.data<float>(), right_.data(), c_.data<float>(), begin * kMostPanel,
                               std::min(p_.n, end * kMostPanel), i % 2 != 0);
      }
    });
  }

  MatrixProduct p_;
  std::int64_t times_;
  RoundedProduct rounded_;
  Tensor a_, b_;
  mutable Tensor c_;
  std::vector<BFloat16Bits> left_, right_;
  mutable std::vector<BFloat16Bits> scratch_;
  bool by_panels_ = false;
};

// The device's matmul kernel, launched for each product.
class DeviceProduct : public ProductAlone {
 public:
  DeviceProduct(const Device& device, const MatrixProduct& p, std::int64_t times, ProductPrecision precision)
      : device_(device.backend()),
        times_(times),
        a_(on_device({p.transpose_a ? p.k : p.m, p.transpose_a ? p.m : p.k})),
        b_(on_device({p.transpose_b ? p.n : p.k, p.transpose_b ? p.k : p.n})),
        c_(on_device({p.m, p.n})) {
    attributes_.set("transpose_a", p.transpose_a);
    attributes_.set("transpose_b", p.transpose_b);
    KernelRequest request;
    request.attributes = &attributes_;
    request.inputs = {a_.view(nullptr), b_.view(nullptr)};
    request.absent_inputs = {false, false};
    request.outputs = {c_.view(nullptr)};
    request.products = precision;
    device_.use();
    kernel_ = (*device.kernels().find("matmul"))(request);
    workspace_ = DeviceMemory(device_, kernel_.workspace + 1);
  }
  void run() const override {
    const std::vector<TensorView> inputs = {a_.view(a_.memory.raw()), b_.view(b_.memory.raw())},
                                  outputs = {c_.view(c_.memory.raw())};
    KernelContext context;
    context.attributes = &attributes_;
    context.inputs = inputs;
    context.outputs = outputs;
    context.workspace = workspace_.raw();
    context.stream = device_.stream();
    device_.use();
    for (std::int64_t i = 0; i < times_; ++i) kernel_.run(context);
  }

 private:
  struct Matrix {
    Sizes sizes;
    DeviceMemory memory;
    TensorView view(void* data) const { return {data, DType::kFloat32, sizes}; }
  };
  Matrix on_device(const Sizes& sizes) const {
    const Tensor random = random_tensor(sizes, 1);
    Matrix matrix{sizes, DeviceMemory(device_, random.bytes())};
    device_.to_device(matrix.memory.raw(), random.raw(), random.bytes());
    return matrix;
  }

  Backend& device_;
  std::int64_t times_;
  Attributes attributes_;
  Matrix a_, b_, c_;
  Kernel kernel_;
  DeviceMemory workspace_;
};

}  // namespace

void ProductsAlone::add(const MatrixProduct& p, std::int64_t times) {
  if (p.m == 0 || p.n == 0 || p.k == 0 || times == 0) return;
  operations_ += p.operations() * static_cast<double>(times);
  if (target_.device->is_cpu() && rounds_on_cpu(target_.products) && RoundedProduct::serves(p.n)) {
    products_.push_back(std::make_unique<RoundedHostProduct>(p, times));
  } else if (target_.device->is_cpu()) {
    products_.push_back(std::make_unique<HostProduct>(p, times));
  } else {
    products_.push_back(std::make_unique<DeviceProduct>(*target_.device, p, times, target_.products));
  }
}

double ProductsAlone::run() const {
  const std::int64_t begin = Profiler::now();
  for (const auto& product : products_) product->run();
  if (!target_.device->is_cpu()) target_.device->backend().wait();
  return milliseconds(begin);
}

std::function<void(const std::string&, const ir::Graph&, double)> ProductsOfGraph::observer() {
  return [this](const std::string& stage, const ir::Graph& graph, double) {
    if (stage == "merge" || stage == "fuse") done_ = true;
    if (!done_) graph_ = graph;
  };
}

ProductsAlone ProductsOfGraph::alone(const SymbolValues& symbols, Target target) const {
  ProductsAlone out(target);
  add(graph_, symbols, 1, out);
  return out;
}

void ProductsOfGraph::add(const ir::Graph& graph, const SymbolValues& symbols, std::int64_t times, ProductsAlone& out) {
  for (const ir::Node& node : graph.nodes) {
    const auto sizes = [&](ir::ValueId v) { return evaluate(graph.type(v).shape, symbols); };
    if (ir::is_scan(node)) add(node.regions[0], symbols, times * node.attributes.dim("steps").evaluate(symbols), out);
    if (node.op->name == "matmul_reduce") {
      const Sizes a = sizes(node.inputs[0]), b = sizes(node.inputs[1]);
      out.add({a.back(), b.back(), element_count(a) / std::max<std::int64_t>(1, a.back()), true, false}, times);
    }
    if (node.op->name != "matmul") continue;
    const Sizes a = sizes(node.inputs[0]), b = sizes(node.inputs[1]), y = sizes(node.outputs[0]);
    MatrixProduct p{1, 1, 1, node.attributes.boolean("transpose_a"), node.attributes.boolean("transpose_b")};
    p.k = p.transpose_a ? a[a.size() - 2] : a.back();
    if (b.size() > 1) p.n = y.back();
    if (a.size() > 1) p.m = y[y.size() - (b.size() > 1 ? 2 : 1)];
    // A matrix shared by all rows is one product; otherwise there is one per entry of the batch.
    const std::int64_t batch = element_count(y) / std::max<std::int64_t>(1, p.m * p.n);
    if (b.size() <= 2 && !p.transpose_a) {
      p.m *= batch;
      out.add(p, times);
    } else {
      out.add(p, times * batch);
    }
  }
}

}  // namespace graphrun
