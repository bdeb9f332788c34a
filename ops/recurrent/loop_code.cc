#include "ops/recurrent/loop_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/recurrent/loop_rounded.h"

namespace graphrun {
namespace {

constexpr std::int64_t kColumnsTogether = loop::kColumnsTogether;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// A float32 product's, on a device that has matrix units; null: it is multiplied as it is.
const LoopCode::RoundedForm* rounded_form(const ProductPart& part, const DeviceLimits& limits) {
  static constexpr LoopCode::RoundedForm kTf32 = {"cuda::Tf32", "TF32", cuda::Tf32::kInWord},
                                         kBFloat16 = {"cuda::BFloat16", "bfloat16", cuda::BFloat16::kInWord};
  if (!limits.matrix_units || part.dtype != DType::kFloat32) return nullptr;
  switch (part.precision) {
    case ProductPrecision::kTf32: return &kTf32;
    case ProductPrecision::kBFloat16: return &kBFloat16;
    case ProductPrecision::kFloat32: break;
  }
  return nullptr;
}

}  // namespace

LoopCode::LoopCode(const BoundScan& scan, const std::vector<char>& meet_before, const DeviceLimits& limits)
    : limits_(limits), steps_(scan.steps), reverse_(scan.reverse) {
  for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    Member member;
    member.place = places_;
    member.inputs = bound.inputs().size(), member.outputs = bound.outputs().size();
    places_ += member.inputs + member.outputs;
    const TensorView& result = bound.outputs()[0];
    member.columns = result.sizes.empty() ? 1 : result.sizes.back();
    member.rows = member.columns == 0 ? 0 : result.count() / member.columns;
    member.product = dynamic_cast<const ProductPart*>(bound.kernel.part.get());
    member.pointwise = dynamic_cast<const PointwisePart*>(bound.kernel.part.get());
    member.copied = result.dtype;
    member.meets = meet_before[i] != 0;
    if (member.product != nullptr) member.rounded = rounded_form(*member.product, limits_);
    members_.push_back(member);
  }
  choose_blocks();
  const bool rounds = std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.rounded != nullptr; });
  threads_ = rounds ? static_cast<int>(round_up(limits_.threads, cuda::kWarpThreads)) : limits_.threads;
  place_weights();
  if (rounds) deepen_piece();
  const std::string body = kTextBegin + parts() + arguments() + product_functions() + steps_text() + kTextEnd;
  const char* const products =
      rounds ? "#include \"ops/recurrent/loop_rounded.h\"\n" : "#include \"ops/recurrent/loop_device.h\"\n";
  text_ = named_text(std::string(kDeviceIncludes) + products, body);
}

// All of them, as long as each has columns of its own: what is split further is split into less to compute between meetings.
void LoopCode::choose_blocks() {
  std::int64_t widest = 1;
  for (const Member& m : members_) widest = std::max(widest, m.columns);
  blocks_ = std::clamp<std::int64_t>((widest + kColumnsTogether - 1) / kColumnsTogether, 1, limits_.multiprocessors);
}

// Of the left factors, that a product cannot do without.
std::size_t LoopCode::least_piece(const Member& m) const {
  if (m.rounded == nullptr)
    return static_cast<std::size_t>(loop::kDeep * round_up(m.rows, loop::kTileRows)) * size_of(m.product->dtype);
  const std::int64_t tile = loop::tiles_of(m.rows, cuda::kUnitRows) * loop::kLeftTileBytes;
  return static_cast<std::size_t>(std::max<std::int64_t>(tile, threads_ * std::int64_t{4 * sizeof(float)}));
}

// Of the block with the most columns.
std::size_t LoopCode::weight_bytes(const Member& m) const {
  const std::int64_t own =
      (round_up(m.columns, kColumnsTogether) / kColumnsTogether + blocks_ - 1) / blocks_ * kColumnsTogether;
  const std::vector<Product>& products = m.product->group.products;
  std::int64_t bytes = 0;
  if (m.rounded == nullptr) {
    for (const Product& p : products) bytes += p.k * own * static_cast<std::int64_t>(size_of(m.product->dtype));
  } else {
    const std::int64_t column_tiles = loop::tiles_of(static_cast<std::int64_t>(m.product->groups()) * own, cuda::kUnitColumns);
    for (std::size_t t = 0; t < m.product->terms(); ++t)
      bytes += column_tiles * loop::tiles_deep(products[t].k, m.rounded->in_word) * loop::kRightTileBytes;
  }
  return static_cast<std::size_t>(round_up(bytes, 16));
}

// Weights that fit beside the piece of the left factors, in the order of their products.
void LoopCode::place_weights() {
  for (const Member& m : members_) {
    if (m.product != nullptr) piece_bytes_ = std::max(piece_bytes_, least_piece(m));
  }
  for (Member& m : members_) {
    if (m.product == nullptr) continue;
    const std::size_t bytes = weight_bytes(m);
    if (piece_at_ + bytes + piece_bytes_ > limits_.shared) continue;
    m.resident = static_cast<std::int64_t>(piece_at_);
    piece_at_ += bytes;
  }
}

// The deeper the piece is, the fewer times the block's threads wait for each other.
void LoopCode::deepen_piece() {
  std::int64_t deepest = 1, row_tiles = 1;
  for (const Member& m : members_) {
    if (m.rounded == nullptr) continue;
    row_tiles = std::max(row_tiles, loop::tiles_of(m.rows, cuda::kUnitRows));
    for (const Product& p : m.product->group.products) deepest = std::max(deepest, loop::tiles_deep(p.k, m.rounded->in_word));
  }
  const std::int64_t tile = row_tiles * loop::kLeftTileBytes;
  const auto room = static_cast<std::int64_t>(limits_.shared) - static_cast<std::int64_t>(piece_at_);
  deep_ = std::clamp<std::int64_t>(room / tile, 1, deepest);
  piece_bytes_ = std::max(piece_bytes_, static_cast<std::size_t>(deep_ * tile));
}

std::string LoopCode::parts() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const PointwisePart* const part = members_[i].pointwise;
    if (part == nullptr) continue;
    text += fmt::format("namespace part{} {{\n\n", i) + part->code->begin() + "};\n\n" + part->code->functions();
    std::string results, stores;
    for (std::size_t r = 0; r < part->results; ++r) {
      results += fmt::format(", {}* y{}", part->code->type_of_result(r), r);
      stores += fmt::format("    element::store(y{0} + i, r.r{0});\n", r);
    }
    text += fmt::format(R"x(
template <int n>
GRAPHRUN_DEVICE void run(const Arguments& a{}, int rows, int columns) {{
  const loop::Columns own(columns);
  const int pieces = own.count() / n;
  for (int e = cuda::thread_index(); e < rows * pieces; e += cuda::thread_count()) {{
    const Index i = static_cast<Index>(e / pieces) * columns + own.begin + e % pieces * n;
    const Results<n> r = compute<n>(a, i);
{}  }}
}}

}}  // namespace part{}

)x",
                        results, stores, i);
  }
  return text;
}

std::string LoopCode::arguments() const {
  std::string text = fmt::format("struct Arguments {{\n  loop::Place places[{}];\n", places_), numbers;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    if (m.pointwise != nullptr) text += fmt::format("  part{0}::Arguments part{0};\n", i);
    numbers += fmt::format("  std::int32_t rows{0}, columns{0};\n", i);
    if (m.pointwise != nullptr) numbers += fmt::format("  std::int32_t wide{};\n", i);
    if (m.product != nullptr) numbers += fmt::format("  std::int32_t resident{0}, inner{0}[{1}];\n", i, m.product->terms());
  }
  return text + "  unsigned* counter;\n  std::int64_t steps;\n  std::int32_t reverse, piece, deep;\n" + numbers + "};\n\n";
}

std::string LoopCode::product_functions() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    if (m.product == nullptr) continue;
    const ProductGroup& group = m.product->group;
    const char* const type = device_type(m.product->dtype);
    const std::string product = fmt::format("loop::Product<{}, {}, {}>", type, m.product->terms(), m.product->groups());
    text += fmt::format(
        "GRAPHRUN_DEVICE {0} product{1}(const Arguments& a, const loop::Step& step, char* shared) {{\n  {0} p;\n", product, i);
    text += fmt::format("  p.rows = a.rows{0}, p.columns = a.columns{0}, p.transpose_b = {1};\n", i,
                        group.products[0].transpose_b ? "true" : "false");
    for (std::size_t t = 0; t < m.product->terms(); ++t) {
      text += fmt::format("  p.inner[{0}] = a.inner{1}[{0}], p.a[{0}] = loop::address<const {2}>(a.places[{3}], step);\n", t, i,
                          type, m.place + group.a(t));
    }
    for (std::size_t f = 0; f < group.products.size(); ++f) {
      text += fmt::format("  p.b[{}] = loop::address<const {}>(a.places[{}], step);\n", f, type, m.place + group.b(f));
    }
    for (std::size_t g = 0; g < m.product->groups(); ++g) {
      text += fmt::format("  p.y[{}] = loop::address<{}>(a.places[{}], step);\n", g, type, m.place + m.inputs + g);
    }
    text += fmt::format("  p.resident = a.resident{0} < 0 ? nullptr : shared + a.resident{0};\n", i);
    text += "  return p;\n}\n\n";
  }
  return text;
}

std::string LoopCode::steps_text() const {
  std::string text = R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {
  const Arguments& a = arguments;
  char* const shared = static_cast<char*>(cuda::shared_memory());
  unsigned round = 0;
  loop::Step step{0, a.steps, a.reverse != 0};
)x";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].product == nullptr) continue;
    const RoundedForm* const form = members_[i].rounded;
    text += fmt::format(
        "  if (a.resident{0} >= 0) loop::{2}(product{0}(a, step, shared), reinterpret_cast<{1}*>(shared + a.resident{0}));\n",
        i, form != nullptr ? "unsigned" : device_type(members_[i].product->dtype),
        form != nullptr ? fmt::format("bring_rounded<{}>", form->type) : "bring");
  }
  text += "  for (; step.number < a.steps; ++step.number) {\n";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    text += m.meets ? "    cuda::grid_barrier(a.counter, round);\n" : "    cuda::barrier();\n";
    if (m.rounded != nullptr) {
      text += fmt::format(
          "    loop::multiply_rounded<{1}>(product{0}(a, step, shared), reinterpret_cast<unsigned*>(shared + a.piece), "
          "a.deep);\n",
          i, m.rounded->type);
      continue;
    }
    if (m.product != nullptr) {
      text += fmt::format("    loop::multiply(product{0}(a, step, shared), reinterpret_cast<{1}*>(shared + a.piece));\n", i,
                          device_type(m.product->dtype));
      continue;
    }
    if (m.pointwise == nullptr) {
      text += fmt::format(
          "    loop::copy(loop::address<const {0}>(a.places[{1}], step), loop::address<{0}>(a.places[{2}], step), a.rows{3}, "
          "a.columns{3});\n",
          device_type(m.copied), m.place, m.place + 1, i);
      continue;
    }
    const DeviceCode& code = *m.pointwise->code;
    text += fmt::format("    {{\n      part{0}::Arguments own = a.part{0};\n", i);
    std::size_t draw = 0;
    for (const DeviceCode::Operand& operand : code.operands()) {
      if (operand.kind == DeviceCode::Operand::Kind::kInput) {
        text += fmt::format("      own.x{0} = loop::address<const {1}>(a.places[{2}], step);\n", operand.input,
                            code.type_of_input(operand.input), m.place + operand.input);
      } else if (operand.kind == DeviceCode::Operand::Kind::kDraw) {
        text += fmt::format(
            "      own.draw{0}.row = fold_coordinate(own.draw{0}.row, static_cast<std::uint64_t>(step.position()));\n", draw++);
      }
    }
    std::string results;
    for (std::size_t r = 0; r < m.pointwise->results; ++r) {
      results += fmt::format(", loop::address<{}>(a.places[{}], step)", code.type_of_result(r), m.place + m.inputs + r);
    }
    text += fmt::format(
        "      a.wide{0} ? part{0}::run<4>(own{1}, a.rows{0}, a.columns{0}) : part{0}::run<1>(own{1}, a.rows{0}, "
        "a.columns{0});\n",
        i, results);
    text += "    }\n";
  }
  return text + "  }\n}\n";
}

}  // namespace graphrun
