#include "tools/bench/products.h"

#include <omp.h>

#include <algorithm>
#include <dnnl.hpp>
#include <unordered_map>

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

// The same for factors that are already rounded to bfloat16: oneDNN for the whole product, or with each thread on its own rows,
// or packed panels for few rows.
class RoundedHostProduct : public ProductAlone {
 public:
  RoundedHostProduct(const MatrixProduct& p, std::int64_t times)
      : p_(p),
        times_(times),
        packed_(p, PackedForm::of_pairs()),
        a_(zeros(p.m * p.k)),
        b_(zeros(p.n * p.k)),
        rows_(random_tensor({p.m * p.k}, 1)),
        c_(random_tensor({p.m * p.n}, 1)) {
    const std::int64_t parts = std::min<std::int64_t>(threads(), p.m);
    for (std::int64_t i = 0; i < parts; ++i) parts_.emplace_back(*this, p.m * i / parts, p.m * (i + 1) / parts);
    if (times == 1 || !packed_.available() || p.transpose_a) return;
    panels_ = zeros(static_cast<std::int64_t>(packed_.bytes()) / 2);
    by_panels_ = shortest_of_ten([&] { run_panels(1); }) < shortest_of_ten([&] { run_whole(); });
  }
  void run() const override {
    if (by_panels_) return run_panels(times_);
    for (std::int64_t i = 0; i < times_; ++i) run_whole();
  }

 private:
  // Computes rows [begin, end).
  struct RowsOfProduct {
    RowsOfProduct(const RoundedHostProduct& whole, std::int64_t begin, std::int64_t end) {
      using Dims = dnnl::memory::dims;
      using Type = dnnl::memory::data_type;
      const MatrixProduct& p = whole.p_;
      const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
      const dnnl::memory::desc a({end - begin, p.k}, Type::bf16, p.transpose_a ? Dims{1, p.m} : Dims{p.k, 1}),
          b({p.k, p.n}, Type::bf16, p.transpose_b ? Dims{1, p.k} : Dims{p.n, 1}),
          c({end - begin, p.n}, Type::f32, Dims{p.n, 1});
      dnnl::primitive_attr attributes;
      attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
      const dnnl::matmul::primitive_desc chosen(dnnl::matmul::desc(a, b, c), attributes, engine);
      primitive = dnnl::matmul(chosen);
      stream = dnnl::stream(engine);
      auto* const from = const_cast<std::uint16_t*>(whole.a_.data()) + begin * (p.transpose_a ? 1 : p.k);
      arguments = {{DNNL_ARG_SRC, dnnl::memory(a, engine, from)},
                   {DNNL_ARG_WEIGHTS, dnnl::memory(b, engine, const_cast<std::uint16_t*>(whole.b_.data()))},
                   {DNNL_ARG_DST, dnnl::memory(c, engine, whole.c_.data<float>() + begin * p.n)},
                   {DNNL_ARG_SCRATCHPAD, dnnl::memory(chosen.scratchpad_desc(), engine)}};
    }
    dnnl::matmul primitive;
    mutable dnnl::stream stream;
    std::unordered_map<int, dnnl::memory> arguments;
  };

  static std::vector<std::uint16_t> zeros(std::int64_t n) { return std::vector<std::uint16_t>(static_cast<std::size_t>(n)); }
  void run_whole() const {
    // oneDNN uses all threads, also inside another parallel region.
    parallel_ranges(static_cast<std::int64_t>(parts_.size()), 1, [&](std::int64_t begin, std::int64_t end) {
      const int before = omp_get_max_threads();
      omp_set_num_threads(1);
      for (; begin < end; ++begin) {
        const RowsOfProduct& part = parts_[static_cast<std::size_t>(begin)];
        part.primitive.execute(part.stream, part.arguments);
      }
      omp_set_num_threads(before);
    });
  }
  void run_panels(std::int64_t times) const {
    const std::int64_t panels = (p_.n + packed_.panel() - 1) / packed_.panel();
    parallel_ranges(panels, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = 0; i < times; ++i) {
        packed_.multiply(rows_.data<float>(), panels_.data(), c_.data<float>(), begin * packed_.panel(),
                         std::min(p_.n, end * packed_.panel()), i % 2 != 0);
      }
    });
  }

  MatrixProduct p_;
  std::int64_t times_;
  PackedProduct packed_;
  std::vector<std::uint16_t> a_, b_, panels_;
  Tensor rows_;
  mutable Tensor c_;
  std::vector<RowsOfProduct> parts_;
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
