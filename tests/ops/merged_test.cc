// matmul_many, matmul_reduce_many and matmul_sum against the separate products, whole and by columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/threads/threads.h"
#include "tests/ops/run_kernel.h"

namespace graphrun {
namespace {

using tests::KernelCall;
using tests::run_kernel;
using tests::run_kernel_into;
using tests::sample;

Attributes transposed(bool b) {
  Attributes attributes;
  attributes.set("transpose_b", b);
  return attributes;
}

// The tolerance for a sum of about `terms` terms computed in another order.
void expect_near(const Tensor& a, const Tensor& b, double terms) {
  ASSERT_EQ(a.sizes(), b.sizes());
  const double tolerance = (a.dtype() == DType::kFloat32 ? 1e-6 : 1e-14) * terms;
  for (std::int64_t i = 0; i < a.count(); ++i) ASSERT_NEAR(a.at(i), b.at(i), tolerance) << i;
}

Tensor plus(const Tensor& a, const Tensor& b) {
  Tensor out = a.clone().converted(DType::kFloat64);
  for (std::int64_t i = 0; i < a.count(); ++i) out.data<double>()[i] = a.at(i) + b.at(i);
  return out.converted(a.dtype());
}

struct Size {
  std::int64_t rows, k, n;
};
// Zero, one, few and many of each: the plain kernel's products and those in panels, one block and several.
const std::vector<Size> kSizes = {{0, 3, 4}, {1, 1, 1}, {2, 0, 3}, {5, 7, 9}, {33, 40, 50}, {130, 260, 200}};

TEST(Merged, ManyGivesEachProduct) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Size& s : kSizes) {
      for (bool t : {false, true}) {
        const Sizes matrix = t ? Sizes{s.n, s.k} : Sizes{s.k, s.n};
        const Tensor a = sample(dtype, {s.rows, s.k}, 1);
        const std::vector<Tensor> b = {sample(dtype, matrix, 2), sample(dtype, matrix, 3), sample(dtype, matrix, 4)};
        std::vector<Tensor> y(3, Tensor());
        for (Tensor& out : y) out = sample(dtype, {s.rows, s.n}, 9);
        run_kernel_into({"matmul_many", {a, b[0], b[1], b[2]}, transposed(t), {}, {}}, y);
        for (std::size_t i = 0; i < 3; ++i) {
          expect_near(y[i], run_kernel({"matmul", {a, b[i]}, transposed(t), {}, {}}, dtype, {s.rows, s.n}),
                      static_cast<double>(s.k));
        }
      }
    }
  }
}

TEST(Merged, ReduceManyGivesEachProduct) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Size& s : kSizes) {
      const Tensor a = sample(dtype, {2, s.rows, s.k}, 1);
      const std::vector<Tensor> b = {sample(dtype, {2, s.rows, s.n}, 2), sample(dtype, {2, s.rows, s.n}, 3)};
      std::vector<Tensor> y = {sample(dtype, {s.k, s.n}, 9), sample(dtype, {s.k, s.n}, 9)};
      run_kernel_into({"matmul_reduce_many", {a, b[0], b[1]}, {}, {}, {}}, y);
      for (std::size_t i = 0; i < 2; ++i) {
        expect_near(y[i], run_kernel({"matmul_reduce", {a, b[i]}, {}, {}, {}}, dtype, {s.k, s.n}),
                    static_cast<double>(2 * s.rows));
      }
    }
  }
}

TEST(Merged, SumAddsProductsOfOtherInnerSizes) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Size& s : kSizes) {
      for (bool t : {false, true}) {
        const auto matrix = [&](std::int64_t k) { return t ? Sizes{s.n, k} : Sizes{k, s.n}; };
        const Tensor a = sample(dtype, {s.rows, s.k}, 1), b = sample(dtype, matrix(s.k), 2),
                     c = sample(dtype, {s.rows, s.k + 2}, 3), d = sample(dtype, matrix(s.k + 2), 4),
                     y = sample(dtype, {s.rows, s.n}, 9);
        run_kernel_into({"matmul_sum", {a, b, c, d}, transposed(t), {}, {}}, {y});
        const Tensor ab = run_kernel({"matmul", {a, b}, transposed(t), {}, {}}, dtype, {s.rows, s.n}),
                     cd = run_kernel({"matmul", {c, d}, transposed(t), {}, {}}, dtype, {s.rows, s.n});
        expect_near(y, plus(ab, cd), static_cast<double>(2 * s.k + 2));
      }
    }
  }
}

// Scratch space suffices for the longest of the inner sizes, wherever it stands, for every thread.
TEST(Merged, SumHasScratchSpaceForEveryProduct) {
  const int before = threads();
  const std::vector<std::vector<std::int64_t>> all = {{8, 700}, {700, 8}, {128, 256, 512}};
  for (const std::vector<std::int64_t>& inner : all) {
    KernelCall call{"matmul_sum", {}, transposed(false), {}, {}};
    Tensor expected(DType::kFloat32, {300, 128});
    for (const std::int64_t k : inner) {
      const Tensor a = sample(DType::kFloat32, {300, k}, 1), b = sample(DType::kFloat32, {k, 128}, 2);
      call.inputs.push_back(a), call.inputs.push_back(b);
      expected = plus(expected, run_kernel({"matmul", {a, b}, transposed(false), {}, {}}, DType::kFloat32, {300, 128}));
    }
    for (int t = 1; t <= core_count(); ++t) {
      set_threads(t);
      expect_near(run_kernel(call, DType::kFloat32, {300, 128}), expected, 1000);
    }
  }
  set_threads(before);
}

TEST(Merged, BitsDoNotDependOnThreads) {
  const int before = threads();
  const Tensor a = sample(DType::kFloat32, {300, 200}, 1), b = sample(DType::kFloat32, {200, 170}, 2),
               c = sample(DType::kFloat32, {200, 170}, 3);
  std::vector<Tensor> seen;
  for (int t = 1; t <= core_count(); ++t) {
    set_threads(t);
    std::vector<Tensor> y = {Tensor(DType::kFloat32, {300, 170}), Tensor(DType::kFloat32, {300, 170})};
    run_kernel_into({"matmul_many", {a, b, c}, transposed(false), {}, {}}, y);
    y.push_back(run_kernel({"matmul_sum", {a, b, a, c}, transposed(false), {}, {}}, DType::kFloat32, {300, 170}));
    if (seen.empty()) seen = y;
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::memcmp(y[i].raw(), seen[i].raw(), y[i].bytes()), 0);
  }
  set_threads(before);
}

// ---- by columns

struct Columns {
  Columns(const std::string& op, const std::vector<Tensor>& inputs, std::vector<Tensor> results, bool transpose_b,
          WeightForm weights = WeightForm::kFloat32)
      : in(inputs), out(std::move(results)), attributes(transposed(transpose_b)) {
    KernelRequest request;
    request.attributes = &attributes;
    for (const Tensor& t : in) request.inputs.push_back(t.view()), request.constant_inputs.push_back(true);
    for (const Tensor& t : out) request.outputs.push_back(t.view());
    request.absent_inputs.assign(in.size(), false);
    request.lasting_inputs.assign(in.size(), true), request.weights = weights;
    kernel = (*cpu_device().kernels().find(op))(request).by_columns;
    if (kernel) kept = Tensor(DType::kBool, {static_cast<std::int64_t>(kernel->packed_bytes) + 1});
  }
  KernelContext context() {
    inputs.clear(), outputs.clear();
    for (const Tensor& t : in) inputs.push_back(t.view());
    for (const Tensor& t : out) outputs.push_back(t.view());
    return {&attributes, inputs, outputs, kept.raw(), {}};
  }
  // In column ranges with these ends, `steps` times.
  std::vector<Tensor> run(const std::vector<std::int64_t>& ends, int steps) {
    std::int64_t begin = 0;
    for (std::int64_t end : ends) kernel->prepare(context(), begin, end), begin = end;
    for (int s = 0; s < steps; ++s) {
      begin = 0;
      for (const Tensor& t : out) std::memset(t.raw(), 0x7f, t.bytes());
      for (std::int64_t end : ends) kernel->run(context(), begin, end), begin = end;
    }
    std::vector<Tensor> copies;
    for (const Tensor& t : out) copies.push_back(t.clone());
    return copies;
  }

  std::vector<Tensor> in, out;
  Attributes attributes;
  std::shared_ptr<const ColumnKernel> kernel;
  Tensor kept;
  std::vector<TensorView> inputs, outputs;
};

void check_columns(const std::string& op, const std::vector<Tensor>& inputs, std::size_t results, const Sizes& y, bool t) {
  const DType dtype = inputs[0].dtype();
  std::vector<Tensor> out;
  for (std::size_t i = 0; i < results; ++i) out.emplace_back(dtype, y);
  run_kernel_into({op, inputs, transposed(t), {}, {}}, out);
  std::vector<Tensor> own;
  for (std::size_t i = 0; i < results; ++i) own.emplace_back(dtype, y);
  Columns columns(op, inputs, own, t);
  ASSERT_NE(columns.kernel, nullptr);
  EXPECT_EQ(columns.kernel->columns, y.back());
  const std::vector<Tensor> whole = columns.run({y.back()}, 1);
  for (std::size_t i = 0; i < results; ++i) expect_near(whole[i], out[i], 300);
  // Cut at any allowed column, at any step, from whichever end the step starts: the bits are the same.
  for (std::int64_t cut = columns.kernel->step; cut < y.back(); cut += columns.kernel->step) {
    for (int steps : {1, 2, 3}) {
      const std::vector<Tensor> parts = columns.run({cut, y.back()}, steps);
      for (std::size_t i = 0; i < results; ++i) ASSERT_EQ(std::memcmp(parts[i].raw(), whole[i].raw(), whole[i].bytes()), 0);
    }
  }
}

TEST(Merged, ByColumnsTheSame) {
  for (DType dtype : {DType::kFloat32, DType::kFloat64}) {
    for (const Size& s : std::vector<Size>{{1, 90, 300}, {3, 30, 20}, {20, 65, 50}, {7, 100, 500}}) {
      for (bool t : {false, true}) {
        const Sizes matrix = t ? Sizes{s.n, s.k} : Sizes{s.k, s.n};
        const Tensor a = sample(dtype, {s.rows, s.k}, 1), b = sample(dtype, matrix, 2), c = sample(dtype, matrix, 3),
                     d = sample(dtype, {s.rows, s.k}, 4);
        check_columns("matmul_many", {a, b, c}, 2, {s.rows, s.n}, t);
        check_columns("matmul_sum", {a, b, d, c, d, b}, 1, {s.rows, s.n}, t);
      }
    }
  }
}

// In int8, rows are rounded once for several matrices, in blocks of rows and of matrices: to the bits of each matrix alone.
TEST(Merged, InInt8EachMatrixAsIfAlone) {
  for (const std::int64_t rows : {1, 3, 150}) {
    for (const std::size_t matrices : {2, 3, 9}) {
      const Sizes sizes = {rows, 100};
      const Tensor a = sample(DType::kFloat32, {rows, 70}, 1);
      std::vector<Tensor> all = {a}, results;
      for (std::size_t i = 0; i < matrices; ++i) {
        all.push_back(sample(DType::kFloat32, {70, 100}, static_cast<std::uint32_t>(2 + i)));
        results.emplace_back(DType::kFloat32, sizes);
      }
      Columns together("matmul_many", all, results, false, WeightForm::kInt8);
      ASSERT_NE(together.kernel, nullptr);
      for (const int steps : {1, 2}) {
        const std::vector<Tensor> found = together.run({48, 100}, steps);
        for (std::size_t i = 0; i < matrices; ++i) {
          Columns alone("matmul_many", {a, all[i + 1]}, {Tensor(DType::kFloat32, sizes)}, false, WeightForm::kInt8);
          const Tensor expected = alone.run({100}, 1)[0];
          EXPECT_EQ(std::memcmp(found[i].raw(), expected.raw(), expected.bytes()), 0) << rows << " " << matrices << " " << i;
        }
      }
    }
  }
}

// A row's bits do not depend on the number of rows, although the inner sizes of a sum's products differ, and so does the amount
// of work by which panels are chosen.
TEST(Merged, InInt8ARowOfASumAsIfAlone) {
  const std::vector<std::int64_t> inner = {130, 250, 500};
  constexpr std::int64_t kMost = 40, kColumns = 128;
  const auto first_row = [&](std::int64_t rows) {
    std::vector<Tensor> all;
    for (const std::int64_t k : inner) {
      const Tensor most = sample(DType::kFloat32, {kMost, k}, static_cast<std::uint32_t>(k));
      Tensor a(DType::kFloat32, {rows, k});
      std::memcpy(a.raw(), most.raw(), a.bytes());
      all.insert(all.end(), {a, sample(DType::kFloat32, {k, kColumns}, static_cast<std::uint32_t>(k + 1))});
    }
    Columns columns("matmul_sum", all, {Tensor(DType::kFloat32, {rows, kColumns})}, false, WeightForm::kInt8);
    EXPECT_TRUE(columns.kernel->alone) << rows << " rows";
    const Tensor y = columns.run({kColumns}, 1)[0];
    return std::vector<float>(y.data<float>(), y.data<float>() + kColumns);
  };
  const std::vector<float> expected = first_row(1);
  for (std::int64_t rows = 2; rows <= kMost; ++rows) EXPECT_EQ(first_row(rows), expected) << rows << " rows";
}

TEST(Merged, NotByColumnsWhereAMatrixChanges) {
  const Tensor a = sample(DType::kFloat32, {2, 3}, 1), b = sample(DType::kFloat32, {3, 4}, 2), y(DType::kFloat32, {2, 4});
  KernelRequest request;
  const Attributes attributes = transposed(false);
  request.attributes = &attributes;
  request.inputs = {a.view(), b.view(), b.view()};
  request.outputs = {y.view(), y.view()};
  request.constant_inputs = {false, true, false};
  EXPECT_EQ((*cpu_device().kernels().find("matmul_many"))(request).by_columns, nullptr);
  request.constant_inputs = {false, true, true};
  EXPECT_NE((*cpu_device().kernels().find("matmul_many"))(request).by_columns, nullptr);
}

}  // namespace
}  // namespace graphrun
