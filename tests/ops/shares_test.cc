// What kernels say of rows and columns that can be made by themselves: every case of every op, whole and in shares. A share
// gives the bits of the whole, and where the kernel says so, it reads nothing of the operands' other rows or columns.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/schema.h"
#include "runtime/device/device.h"
#include "tests/ops/fixture.h"
#include "tests/same_bits.h"

namespace graphrun::tests {
namespace {

// A case, bound on the CPU in float32.
class BoundCase {
 public:
  explicit BoundCase(const Case& c) : g_(forward_graph(c)) {
    for (const Tensor& t : c.inputs) {
      inputs.push_back(t.dtype() == DType::kFloat64 ? t.converted(DType::kFloat32) : t);
      request_.inputs.push_back(inputs.back().view());
      request_.inputs.back().data = nullptr;
      request_.absent_inputs.push_back(t.empty());
    }
    for (const ir::ValueId v : g_.outputs) {
      const ir::TensorType& type = g_.graph.type(v);
      outputs_.push_back({concrete(type.type, Precision::kFloat32), evaluate(type.shape, g_.symbols)});
      request_.outputs.push_back({nullptr, outputs_.back().first, outputs_.back().second});
    }
    request_.attributes = &attributes(), request_.symbols = &g_.symbols;
    const KernelFactory* const factory = cpu_device().kernels().find(g_.op->name);
    if (factory != nullptr) kernel = (*factory)(request_);  // a view has none
  }

  std::vector<Tensor> inputs;
  Kernel kernel;

  // The results of `run`, with anything in them before.
  template <class Run>
  std::vector<Tensor> results(const std::vector<Tensor>& from, const Run& run) const {
    std::vector<Tensor> made;
    for (const auto& [dtype, sizes] : outputs_) {
      made.emplace_back(dtype, sizes);
      if (made.back().bytes() > 0) std::memset(made.back().raw(), 0xA5, made.back().bytes());
    }
    std::vector<TensorView> in, out;
    for (const Tensor& t : from) in.push_back(t.view());
    for (const Tensor& t : made) out.push_back(t.view());
    const Tensor workspace(DType::kBool, {static_cast<std::int64_t>(kernel.workspace) + 1});
    run(KernelContext{&attributes(), in, out, workspace.raw(), {}});
    return made;
  }

 private:
  const Attributes& attributes() const {
    for (const ir::Node& node : g_.graph.nodes) {
      if (node.op == g_.op) return node.attributes;
    }
    throw InternalError("the op is not there");
  }

  CaseGraph g_;
  std::vector<std::pair<DType, Sizes>> outputs_;
  KernelRequest request_;
};

// A copy in which all bytes but those of [begin, end) of every `row` elements are others.
Tensor spoiled(const Tensor& t, std::int64_t row, std::int64_t begin, std::int64_t end) {
  Tensor copy = t.clone();
  const std::size_t element = size_of(t.dtype());
  auto* bytes = static_cast<unsigned char*>(copy.raw());
  for (std::int64_t i = 0; i < t.count(); ++i) {
    if (i % row < begin || i % row >= end) std::memset(bytes + static_cast<std::size_t>(i) * element, 0xA5, element);
  }
  return copy;
}

// What of a result a share makes: [begin, end) of every `row` elements.
void expect_share(const Tensor& whole, const Tensor& found, std::int64_t row, std::int64_t begin, std::int64_t end,
                  const std::string& what) {
  const std::size_t element = size_of(whole.dtype());
  const auto *a = static_cast<const char*>(whole.raw()), *b = static_cast<const char*>(found.raw());
  for (std::int64_t i = 0; i < whole.count(); ++i) {
    if (i % row < begin || i % row >= end) continue;
    const std::size_t at = static_cast<std::size_t>(i) * element;
    ASSERT_EQ(std::memcmp(a + at, b + at, element), 0) << what << ", element " << i;
  }
}

std::vector<Tensor> whole_of(const BoundCase& bound) {
  return bound.results(bound.inputs, [&](const KernelContext& c) { bound.kernel.run(c); });
}

TEST(Shares, ByRowsGiveTheWhole) {
  std::set<std::string> checked;
  for (const Case& c : all_cases()) {
    const BoundCase bound(c);
    const RowKernel* const rows = bound.kernel.by_rows.get();
    if (rows == nullptr || c.large) continue;
    checked.insert(c.op);
    const std::vector<Tensor> whole = whole_of(bound);
    for (std::int64_t begin = 0, step = 1; begin < rows->rows; begin += step, step = 2) {
      const std::int64_t end = std::min(begin + step, rows->rows);
      std::vector<Tensor> inputs = bound.inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const bool others = k < rows->reads_other_rows.size() && rows->reads_other_rows[k];
        if (others || inputs[k].empty() || inputs[k].sizes().empty() || inputs[k].sizes()[0] != rows->rows) continue;
        const std::int64_t each = inputs[k].count() / rows->rows;
        inputs[k] = spoiled(inputs[k], inputs[k].count(), begin * each, end * each);
      }
      const std::vector<Tensor> found = bound.results(inputs, [&](const KernelContext& k) { rows->run(k, begin, end); });
      for (std::size_t r = 0; r < found.size(); ++r) {
        const std::int64_t each = found[r].count() / rows->rows;
        expect_share(whole[r], found[r], found[r].count(), begin * each, end * each, c.full_name());
      }
    }
  }
  for (const char* op : {"gather", "pick", "one_hot", "slice", "index", "pad", "mask", "sequence_mask", "last", "add", "max"})
    EXPECT_EQ(checked.count(op), 1u) << op;
}

TEST(Shares, ByColumnsGiveTheWhole) {
  std::set<std::string> checked;
  for (const Case& c : all_cases()) {
    const BoundCase bound(c);
    const ColumnKernel* const columns = bound.kernel.by_columns.get();
    if (columns == nullptr || c.large || columns->prepare) continue;
    checked.insert(c.op);
    const std::vector<Tensor> whole = whole_of(bound);
    for (std::int64_t begin = 0, step = 1; begin < columns->columns; begin += step, step = 2) {
      const std::int64_t end = std::min(begin + step, columns->columns);
      std::vector<Tensor> inputs = bound.inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const bool others = k < columns->reads_other_columns.size() && columns->reads_other_columns[k];
        if (others || inputs[k].empty() || inputs[k].sizes().empty() || inputs[k].sizes().back() != columns->columns) continue;
        inputs[k] = spoiled(inputs[k], columns->columns, begin, end);
      }
      const std::vector<Tensor> found = bound.results(inputs, [&](const KernelContext& k) { columns->run(k, begin, end); });
      for (std::size_t r = 0; r < found.size(); ++r)
        expect_share(whole[r], found[r], columns->columns, begin, end, c.full_name());
    }
  }
  for (const char* op : {"gather", "pick", "one_hot", "slice", "index", "pad", "mask", "sequence_mask", "last", "add"})
    EXPECT_EQ(checked.count(op), 1u) << op;
}

}  // namespace
}  // namespace graphrun::tests
