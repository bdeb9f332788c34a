#include "ops/recurrent/loop_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "ops/recurrent/loop_passed.h"
#include "ops/round_up.h"
#include "runtime/scan/dependence.h"

namespace graphrun {
namespace {

constexpr std::int64_t kColumnsTogether = loop::kColumnsTogether;
// Fewer columns than these are not worth a block of a cluster: a tile of matrix units.
constexpr std::int64_t kColumnsOfBlock = cuda::kUnitColumns;

// A float32 product's, on a device that has matrix units; null: it is multiplied as it is.
const LoopCode::RoundedForm* rounded_form(const ProductPart& part, bool matrix_units) {
  static constexpr LoopCode::RoundedForm kTf32 = {"cuda::Tf32", "TF32", cuda::Tf32::kInWord},
                                         kBFloat16 = {"cuda::BFloat16", "bfloat16", cuda::BFloat16::kInWord};
  if (!matrix_units || part.dtype != DType::kFloat32) return nullptr;
  switch (part.precision) {
    case ProductPrecision::kTf32: return &kTf32;
    case ProductPrecision::kBFloat16: return &kBFloat16;
    case ProductPrecision::kFloat32: break;
  }
  return nullptr;
}

// Which instruction of a body makes what another reads, and whether at the step before.
struct Maker {
  std::size_t instruction, result;
  bool last_step;
};
std::optional<Maker> maker_of(const BoundScan& scan, std::size_t reader, std::size_t input) {
  const std::vector<BoundInstruction>& body = scan.body.instructions;
  const Storage read = scan.body.storage_of(body[reader], input);
  const auto memory = [&](const Storage& slot, int step) {
    return slot_memory(scan, static_cast<std::size_t>(slot.index), step);
  };
  // The last that wrote there, at this step, 2, or the one before.
  for (std::size_t back = 1; back < body.size() + 1; ++back) {
    const bool last_step = back > reader;
    const std::size_t i = last_step ? reader + body.size() - back : reader - back;
    for (std::size_t r = 0; r < body[i].source->outputs.size(); ++r) {
      const Storage made = scan.body.storage_of(body[i], body[i].source->inputs.size() + r);
      if (made.kind != read.kind) continue;
      const bool same = made.kind == Storage::Kind::kBlock ? !last_step && made.index == read.index
                                                           : memory(made, last_step ? 1 : 2) == memory(read, 2);
      if (same) return Maker{i, r, last_step};
    }
  }
  return std::nullopt;
}

// Where a step finds or puts what is passed: that of the step, or of the one before.
std::string place_of_passed(int number, bool of_last_step) {
  return fmt::format("passing + a.passed{0} + (step.number{1}) % 2 * a.bytes{0}", number, of_last_step ? " + 1" : "");
}

// Cycles in which a multiprocessor reads so many bytes of the device's memory, where all of them do so, and of its own.
double cycles_of_memory(double bytes) { return bytes / 24; }
double cycles_of_own(double bytes) { return bytes / 128; }

}  // namespace

std::size_t ProductPart::passed_bytes() const {
  const LoopCode::RoundedForm* const form = rounded_form(*this, true);
  if (form == nullptr) return 0;
  std::int64_t most = 0;
  for (std::size_t t = 0; t < terms(); ++t) {
    const Product& p = group.products[t];
    std::int64_t of_term = 0;
    for (std::int64_t parts = 1; parts <= kMostRowParts; ++parts) {
      of_term = std::max(of_term, parts * loop::rounded_left_bytes((p.m + parts - 1) / parts, p.k, form->in_word));
    }
    most += 2 * of_term;
  }
  return static_cast<std::size_t>(most);
}

LoopCode::LoopCode(const BoundScan& scan, const ProgramLayout& layout, const DeviceLimits& limits)
    : limits_(limits), steps_(scan.steps), reverse_(scan.reverse) {
  const std::vector<char> barrier_before = barriers_before(scan, layout);
  for (std::size_t i = 0; i < scan.body.instructions.size(); ++i) {
    const BoundInstruction& bound = scan.body.instructions[i];
    Member member;
    member.place = places_;
    member.inputs = bound.inputs().size(), member.outputs = bound.outputs().size();
    places_ += member.inputs + member.outputs;
    const TensorView& result = bound.outputs()[0];
    member.columns = result.sizes.empty() ? 1 : result.sizes.back();
    member.rows = member.columns == 0 ? 0 : result.count() / member.columns;
    if (bound.kernel.part != nullptr) {
      in_each_case(
          *bound.kernel.part, [&](const ProductPart& part) { member.product = &part; },
          [&](const PointwisePart& part) { member.pointwise = &part; },
          [](const ReductionPart&) { throw InternalError("a reduction in a loop by columns"); },
          [](const ElementPart&) { throw InternalError("an operator by elements in a loop by columns"); });
    }
    member.copied = result.dtype;
    member.meets = barrier_before[i] != 0;
    if (member.product != nullptr) member.rounded = rounded_form(*member.product, limits_.matrix_units);
    members_.push_back(member);
  }
  const bool rounds = std::any_of(members_.begin(), members_.end(), [](const Member& m) { return m.rounded != nullptr; });
  threads_ = rounds ? static_cast<int>(round_up(limits_.threads, cuda::kWarpThreads)) : limits_.threads;
  if (!take_clusters(scan, layout)) take_grid(scan, layout);
  GRAPHRUN_CHECK(workspace() <= LoopKernel::kWorkspace + graphrun::passed_bytes(scan), "what the blocks of a loop pass");
  lay_out_arguments();
  const std::string body = kTextBegin + parts() + arguments_.text() + "\n" + product_functions() + steps_text() + kTextEnd;
  const char* const products = !passed_.empty() ? "loop_passed.h" : rounds ? "loop_rounded.h" : "loop_device.h";
  text_ = named_text(kDeviceIncludes + fmt::format("#include \"ops/recurrent/{}\"\n", products), body);
}

// The left factors that the loop computes itself and passes in the layout its products read. On a grid only matrix units take
// them: rounded, they are at most half as large, and no block has to copy them to shared memory and rearrange them.
void LoopCode::find_passed(const BoundScan& scan) {
  passed_.clear();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    m.passes.assign(m.outputs, -1);
    if (m.product == nullptr) continue;
    m.reads_passed.assign(m.product->terms(), -1), m.of_last_step.assign(m.product->terms(), 0);
  }
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    if (m.product == nullptr || (!in_clusters_ && m.rounded == nullptr)) continue;
    for (std::size_t t = 0; t < m.product->terms(); ++t) {
      const std::size_t input = m.product->group.a(t);
      const std::optional<Maker> maker = maker_of(scan, i, input);
      if (!maker) continue;
      Member& from = members_[maker->instruction];
      const std::int64_t inner = m.product->group.products[t].k;
      const TensorView& made = scan.body.instructions[maker->instruction].outputs()[maker->result];
      if (from.rows != m.rows || from.columns != inner || made.dtype != m.product->dtype) continue;
      int& number = from.passes[maker->result];
      GRAPHRUN_CHECK(number < 0 || members_[passed_[static_cast<std::size_t>(number)].reader].rounded == m.rounded,
                     "a left factor that two products round in different ways");
      if (number < 0) {
        number = static_cast<int>(passed_.size());
        passed_.push_back({maker->instruction, maker->result, i, inner});
      }
      if (maker->last_step) passed_[static_cast<std::size_t>(number)].begins_at = static_cast<std::int64_t>(m.place + input);
      m.reads_passed[t] = number, m.of_last_step[t] = maker->last_step;
    }
  }
}

// The largest clusters whose blocks have tiles of columns for themselves, where they have room for all weights: a step's
// meeting is then the cluster's alone. Unlike a grid's blocks, they need not all be on the device at once.
bool LoopCode::take_clusters(const BoundScan& scan, const ProgramLayout& layout) {
  if (!meets() || members_[0].rows == 0 || !has_rows_apart(scan, layout)) return false;
  in_clusters_ = true;
  find_passed(scan);
  const std::int64_t widest = widest_columns();
  for (std::size_t i = limits_.clusters.size(); i-- > 0;) {
    column_parts_ = DeviceLimits::cluster_size(i);
    row_parts_ = std::min<std::int64_t>(limits_.clusters[i], members_[0].rows);
    if (row_parts_ == 0 || widest < column_parts_ * kColumnsOfBlock) continue;
    place();
    if (keeps_weights() && fits()) return true;
  }
  in_clusters_ = false;
  return false;
}

// All blocks, as long as each has columns of its own: what is split further is split into less to compute between meetings.
// With matrix units, parts of the rows have blocks of their own where that costs a step least: each reads fewer rows of what
// others made, and has more columns of the weights.
void LoopCode::take_grid(const BoundScan& scan, const ProgramLayout& layout) {
  find_passed(scan);
  const std::int64_t most_columns = (widest_columns() + kColumnsTogether - 1) / kColumnsTogether;
  const auto take = [&](std::int64_t row_parts) {
    row_parts_ = row_parts;
    column_parts_ = std::clamp<std::int64_t>(most_columns, 1, std::max<std::int64_t>(1, limits_.multiprocessors / row_parts));
    place();
  };
  std::int64_t best = 1;
  take(best);
  if (!passed_.empty() && meets() && has_rows_apart(scan, layout)) {
    const std::int64_t most =
        std::min<std::int64_t>({kMostRowParts, limits_.multiprocessors, loop::tiles_of(members_[0].rows, cuda::kUnitRows)});
    const bool kept = keeps_weights();
    double least = step_cycles();
    for (std::int64_t parts = 2; parts <= most; ++parts) {
      take(parts);
      if (!fits() || (kept && !keeps_weights()) || step_cycles() >= least) continue;
      best = parts, least = step_cycles();
    }
  }
  take(best);
}

// Whether all results have the same rows, none of which depends on another.
bool LoopCode::has_rows_apart(const BoundScan& scan, const ProgramLayout& layout) const {
  return std::all_of(members_.begin(), members_.end(), [&](const Member& m) { return m.rows == members_[0].rows; }) &&
         rows_keep_apart(scan, layout, members_[0].rows);
}

std::int64_t LoopCode::widest_columns() const {
  std::int64_t widest = 1;
  for (const Member& m : members_) widest = std::max(widest, m.columns);
  return widest;
}

// About what a step's products take a block to read.
double LoopCode::step_cycles() const {
  double cycles = 0;
  for (const Member& m : members_) {
    if (m.product == nullptr || m.rounded == nullptr) continue;
    const std::int64_t row_tiles = row_tiles_of(m), column_tiles = column_tiles_of(m);
    // How many times each is read.
    const std::int64_t down = loop::tiles_of(row_tiles, loop::warp_rows_of(row_tiles));
    const std::int64_t across = loop::tiles_of(column_tiles, loop::warp_columns_of(column_tiles));
    std::int64_t left = 0;
    for (std::size_t t = 0; t < m.product->terms(); ++t) {
      left += row_tiles * loop::tiles_deep(m.product->group.products[t].k, m.rounded->in_word) * loop::kLeftTileBytes;
    }
    const auto weights = static_cast<double>(static_cast<std::int64_t>(weight_bytes(m)) * down);
    cycles += cycles_of_memory(static_cast<double>(left * across));
    cycles += m.resident >= 0 ? cycles_of_own(weights) : cycles_of_memory(weights);
  }
  return cycles;
}

// What a block has in its memory, from its begin on: weights, of a cluster what is passed, the piece of left factors. On a grid
// what is passed is in the device's memory, for each part of the rows.
void LoopCode::place() {
  piece_at_ = piece_bytes_ = 0, deep_ = 0;
  place_passed();
  place_weights();
  if (in_clusters_) {
    for (Passed& p : passed_) p.at += piece_at_;
    piece_at_ += passed_bytes_;
  }
  deepen_piece();
}

void LoopCode::place_passed() {
  passed_bytes_ = 0;
  for (Passed& p : passed_) {
    const Member& reader = members_[p.reader];
    const auto element = static_cast<std::int64_t>(size_of(reader.product->dtype));
    const std::int64_t rows = rows_of(reader);
    const std::int64_t bytes = reader.rounded == nullptr ? p.inner * loop::padded_rows(static_cast<int>(rows)) * element
                                                         : loop::rounded_left_bytes(rows, p.inner, reader.rounded->in_word);
    p.at = passed_bytes_, p.bytes = static_cast<std::size_t>(round_up(bytes, 16));
    passed_bytes_ += 2 * p.bytes;
  }
}

// Whether a left factor is brought piece by piece.
bool LoopCode::stages(const Member& m) const {
  return std::any_of(m.reads_passed.begin(), m.reads_passed.end(), [](int p) { return p < 0; });
}

// Of the left factors, that a product cannot do without.
std::size_t LoopCode::least_piece(const Member& m) const {
  if (m.rounded == nullptr) {
    if (!stages(m)) return 0;
    return static_cast<std::size_t>(loop::kDeep * round_up(rows_of(m), loop::kTileRows)) * size_of(m.product->dtype);
  }
  const std::int64_t tile = stages(m) ? loop::tiles_of(rows_of(m), cuda::kUnitRows) * loop::kLeftTileBytes : 0;
  return static_cast<std::size_t>(std::max<std::int64_t>(tile, threads_ * loop::kSumBytes));
}

// Of the block with the most.
std::int64_t LoopCode::own_columns(const Member& m) const {
  return (round_up(m.columns, kColumnsTogether) / kColumnsTogether + column_parts_ - 1) / column_parts_ * kColumnsTogether;
}

// Tiles of a product's results that a block has at most.
std::int64_t LoopCode::row_tiles_of(const Member& m) const { return loop::tiles_of(rows_of(m), cuda::kUnitRows); }
std::int64_t LoopCode::column_tiles_of(const Member& m) const {
  return loop::tiles_of(static_cast<std::int64_t>(m.product->groups()) * own_columns(m), cuda::kUnitColumns);
}

std::size_t LoopCode::weight_bytes(const Member& m) const {
  const std::int64_t own = own_columns(m);
  const std::vector<Product>& products = m.product->group.products;
  std::int64_t bytes = 0;
  if (m.rounded == nullptr) {
    for (const Product& p : products) bytes += p.k * own * static_cast<std::int64_t>(size_of(m.product->dtype));
  } else {
    const std::int64_t column_tiles = column_tiles_of(m);
    for (std::size_t t = 0; t < m.product->terms(); ++t)
      bytes += column_tiles * loop::tiles_deep(products[t].k, m.rounded->in_word) * loop::kRightTileBytes;
  }
  return static_cast<std::size_t>(round_up(bytes, 16));
}

// Weights that fit beside what else there is, in the order of their products.
void LoopCode::place_weights() {
  const std::size_t beside = in_clusters_ ? passed_bytes_ : 0;
  for (const Member& m : members_) {
    if (m.product != nullptr) piece_bytes_ = std::max(piece_bytes_, least_piece(m));
  }
  for (Member& m : members_) {
    m.resident = -1;
    if (m.product == nullptr) continue;
    const std::size_t bytes = weight_bytes(m);
    if (piece_at_ + bytes + beside + piece_bytes_ > limits_.shared) continue;
    m.resident = static_cast<std::int64_t>(piece_at_);
    piece_at_ += bytes;
  }
}

// Of products on matrix units: the more the piece holds, the fewer times the block's threads wait for each other.
void LoopCode::deepen_piece() {
  const auto room = static_cast<std::int64_t>(limits_.shared) - static_cast<std::int64_t>(piece_at_);
  const std::int64_t sums = threads_ * loop::kSumBytes;  // of a tile
  std::int64_t most = 0;
  for (const Member& m : members_) {
    if (m.rounded == nullptr) continue;
    most = std::max<std::int64_t>(most, loop::warp_columns_of(column_tiles_of(m)) * loop::warp_rows_of(row_tiles_of(m)));
  }
  sums_ = most == 0 ? 0 : std::clamp<std::int64_t>(room / sums, 1, most);
  piece_bytes_ = std::max(piece_bytes_, static_cast<std::size_t>(sums_ * sums));
  std::int64_t deepest = 0, row_tiles = 1;
  for (const Member& m : members_) {
    if (m.rounded == nullptr || !stages(m)) continue;
    row_tiles = std::max(row_tiles, loop::tiles_of(rows_of(m), cuda::kUnitRows));
    for (const Product& p : m.product->group.products) deepest = std::max(deepest, loop::tiles_deep(p.k, m.rounded->in_word));
  }
  if (deepest == 0) return;
  const std::int64_t tile = row_tiles * loop::kLeftTileBytes;
  deep_ = std::clamp<std::int64_t>(room / tile, 1, deepest);
  piece_bytes_ = std::max(piece_bytes_, static_cast<std::size_t>(deep_ * tile));
}

std::string LoopCode::order_of(const Passed& p) const {
  const Member& reader = members_[p.reader];
  return reader.rounded != nullptr ? fmt::format("loop::TileOrder<{}>", reader.rounded->type)
                                   : fmt::format("loop::PlainOrder<{}>", device_type(reader.product->dtype));
}

std::string LoopCode::parts() const {
  std::string text;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const PointwisePart* const part = members_[i].pointwise;
    if (part == nullptr) continue;
    text += fmt::format("namespace part{} {{\n\n", i) + part->code->index_type() + part->code->arguments().text() + "\n" +
            part->code->functions();
    std::string results, orders, stores;
    for (std::size_t r = 0; r < part->results; ++r) {
      results += fmt::format(", {}* y{}", part->code->type_of_result(r), r);
      stores += fmt::format("    element::store(y{0} + i, r.r{0});\n", r);
      if (members_[i].passes[r] < 0) continue;
      results += fmt::format(", char* passed{}", r);
      orders += fmt::format("  const {} order{}(part.rows(rows), columns);\n",
                            order_of(passed_[static_cast<std::size_t>(members_[i].passes[r])]), r);
      stores += fmt::format("    loop::put(order{0}, passed{0}, row, column, r.r{0}.v);\n", r);
    }
    text += fmt::format(R"x(
template <int n>
GRAPHRUN_DEVICE void run(const Arguments& a{}, const loop::Part& part, int rows, int columns) {{
  const loop::Columns own(columns, part);
{}  const int pieces = own.count() / n, first = part.first_row(rows);
  for (int e = cuda::thread_index(); e < part.rows(rows) * pieces; e += cuda::thread_count()) {{
    const int row = e / pieces, column = own.begin + e % pieces * n;
    const Index i = static_cast<Index>(first + row) * columns + column;
    const Results<n> r = compute<n>(a, i);
{}  }}
}}

}}  // namespace part{}

)x",
                        results, orders, stores, i);
  }
  return text;
}

void LoopCode::lay_out_arguments() {
  const auto number = [this](std::string name, std::int64_t value) {
    arguments_.add(std::move(name), static_cast<std::int32_t>(value));
  };
  places_argument_ = arguments_.add_array<LoopPlace>("places", places_);
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    if (m.pointwise == nullptr) continue;
    const DeviceCode& code = *m.pointwise->code;
    m.struct_argument = arguments_.add_struct(fmt::format("part{}", i), fmt::format("part{}::Arguments", i), code.arguments());
    for (std::size_t k = 0; k < code.inputs(); ++k)  // addresses come with the step
      arguments_.fix_address(ArgumentLayout::of_struct(m.struct_argument, code.input_argument(k)), nullptr);
  }
  counter_argument_ = arguments_.add_address("counter", "unsigned");
  arguments_.add("steps", steps_);
  number("reverse", reverse_);
  number("piece", static_cast<std::int64_t>(piece_at_)), number("deep", deep_), number("sums", sums_);
  number("row_parts", row_parts()), number("passing", static_cast<std::int64_t>(passed_bytes_));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    Member& m = members_[i];
    number(fmt::format("rows{}", i), m.rows), number(fmt::format("columns{}", i), m.columns);
    if (m.pointwise != nullptr) m.wide = arguments_.add<std::int32_t>(fmt::format("wide{}", i));
    if (m.product == nullptr) continue;
    number(fmt::format("resident{}", i), m.resident);
    for (std::size_t t = 0; t < m.product->terms(); ++t)
      number(fmt::format("inner{}_{}", i, t), m.product->group.products[t].k);
  }
  for (std::size_t p = 0; p < passed_.size(); ++p) {
    number(fmt::format("passed{}", p), static_cast<std::int64_t>(passed_[p].at));
    number(fmt::format("bytes{}", p), static_cast<std::int64_t>(passed_[p].bytes));
  }
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
        "GRAPHRUN_DEVICE {0} product{1}(const Arguments& a, const loop::Step& step, const loop::Part& part, char* shared, "
        "char* passing) {{\n"
        "  {0} p;\n  const std::int64_t first = part.first_row(a.rows{1});\n",
        product, i);
    text += fmt::format("  p.rows = part.rows(a.rows{0}), p.columns = a.columns{0}, p.transpose_b = {1}, p.part = part;\n", i,
                        group.products[0].transpose_b ? "true" : "false");
    for (std::size_t t = 0; t < m.product->terms(); ++t) {
      text += fmt::format(
          "  p.inner[{0}] = a.inner{1}_{0}, p.a[{0}] = loop::address<const {2}>(a.places[{3}], step) + first * "
          "p.inner[{0}];\n",
          t, i, type, m.place + group.a(t));
      text += fmt::format("  p.passed[{}] = {};\n", t,
                          m.reads_passed[t] < 0 ? "nullptr" : place_of_passed(m.reads_passed[t], m.of_last_step[t] != 0));
    }
    for (std::size_t f = 0; f < group.products.size(); ++f) {
      text += fmt::format("  p.b[{}] = loop::address<const {}>(a.places[{}], step);\n", f, type, m.place + group.b(f));
    }
    for (std::size_t g = 0; g < m.product->groups(); ++g) {
      text += fmt::format("  p.y[{}] = loop::address<{}>(a.places[{}], step) + first * p.columns;\n", g, type,
                          m.place + m.inputs + g);
    }
    text += fmt::format("  p.resident = a.resident{0} < 0 ? nullptr : shared + a.resident{0};\n", i);
    text += "  return p;\n}\n\n";
  }
  return text;
}

// What a block does before its first step, and the steps.
std::string LoopCode::steps_text() const {
  std::string text = fmt::format(R"x(GRAPHRUN_ENTRY(graphrun_@, Arguments) {{
  const Arguments& a = arguments;
  char* const shared = static_cast<char*>(cuda::shared_memory());
  const loop::Part part = loop::part_of_{};
  char* const passing = {};
  unsigned round = 0;
  loop::Step step{{0, a.steps, a.reverse != 0}};
)x",
                                 in_clusters_ ? "cluster()" : "grid(a.row_parts)",
                                 in_clusters_ ? "shared"
                                              : fmt::format("reinterpret_cast<char*>(a.counter) + {} + part.cluster * "
                                                            "static_cast<std::int64_t>(a.passing)",
                                                            LoopKernel::kWorkspace));
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (members_[i].product == nullptr) continue;
    const RoundedForm* const form = members_[i].rounded;
    text += fmt::format(
        "  if (a.resident{0} >= 0) loop::{2}(product{0}(a, step, part, shared, passing), reinterpret_cast<{1}*>(shared + "
        "a.resident{0}));\n",
        i, form != nullptr ? "unsigned" : device_type(members_[i].product->dtype),
        form != nullptr ? fmt::format("bring_rounded<{}>", form->type) : "bring");
  }
  text += passing_text();
  text += "  for (; step.number < a.steps; ++step.number) {\n";
  const char* const meeting = in_clusters_ ? "    cuda::cluster_barrier();\n" : "    cuda::grid_barrier(a.counter, round);\n";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& m = members_[i];
    text += m.meets ? meeting : "    cuda::barrier();\n";
    if (m.pointwise != nullptr) {
      text += pointwise_text(i) + sending_text(i);
      continue;
    }
    if (m.rounded != nullptr) {
      text += fmt::format(
          "    loop::multiply_rounded<{}, {}, {}, {}>(product{}(a, step, part, shared, passing), "
          "reinterpret_cast<unsigned*>(shared + a.piece), a.deep, a.sums);\n",
          m.rounded->type, loop::warp_rows_of(row_tiles_of(m)), loop::warp_columns_of(column_tiles_of(m)), m.resident >= 0, i);
    } else if (m.product != nullptr) {
      text += fmt::format(
          "    loop::multiply(product{0}(a, step, part, shared, passing), reinterpret_cast<{1}*>(shared + a.piece));\n", i,
          device_type(m.product->dtype));
    } else {
      text += fmt::format(
          "    loop::copy(loop::address<const {0}>(a.places[{1}], step), loop::address<{0}>(a.places[{2}], step), part, "
          "a.rows{3}, a.columns{3});\n",
          device_type(m.copied), m.place, m.place + 1, i);
    }
    for (std::size_t r = 0; r < m.outputs; ++r) {
      if (m.passes[r] < 0) continue;
      text += fmt::format("    cuda::barrier();\n    {}",
                          put_text(i, static_cast<std::size_t>(m.passes[r]), m.place + m.inputs + r, false));
    }
    text += sending_text(i);
  }
  text += "  }\n";
  if (in_clusters_) text += "  cuda::cluster_barrier();  // nobody ends while another writes to its memory\n";
  return text + "}\n";
}

// Puts the block's part of a tensor of member i's sizes where it is passed.
std::string LoopCode::put_text(std::size_t i, std::size_t passed, std::size_t place, bool of_last_step) const {
  const Passed& p = passed_[passed];
  return fmt::format("loop::put_own<{}>(loop::address<const {}>(a.places[{}], step), part, a.rows{}, a.columns{}, {});\n",
                     order_of(p), device_type(members_[p.reader].product->dtype), place, i, i,
                     place_of_passed(static_cast<int>(passed), of_last_step));
}

// In clusters: what a member has put, to the other blocks.
std::string LoopCode::sending_text(std::size_t i) const {
  std::string text;
  for (int passed : members_[i].passes) {
    if (passed < 0 || !in_clusters_) continue;
    if (text.empty()) text += "    cuda::barrier();\n";
    text += fmt::format("    loop::send_own<{}>(part, a.rows{}, a.columns{}, {});\n",
                        order_of(passed_[static_cast<std::size_t>(passed)]), i, i, place_of_passed(passed, false));
  }
  return text;
}

// What the first step finds as the last one's.
std::string LoopCode::passing_text() const {
  if (!in_clusters_) {  // where nothing was put, there are zeros
    std::string text;
    for (std::size_t p = 0; p < passed_.size(); ++p) {
      if (passed_[p].begins_at < 0) continue;
      text += "  " + put_text(passed_[p].maker, p, static_cast<std::size_t>(passed_[p].begins_at), true);
    }
    return text.empty() ? text : text + "  cuda::grid_barrier(a.counter, round);\n";
  }
  std::string text;
  for (std::size_t p = 0; p < passed_.size(); ++p) {
    text += fmt::format("  loop::clear(shared + a.passed{0}, 2 * a.bytes{0});\n", p);
  }
  text += "  cuda::barrier();\n";
  for (std::size_t p = 0; p < passed_.size(); ++p) {
    if (passed_[p].begins_at < 0) continue;
    text += fmt::format("  loop::take_all<{}>(loop::address<const {}>(a.places[{}], step), part, a.rows{}, a.columns{}, {});\n",
                        order_of(passed_[p]), device_type(members_[passed_[p].reader].product->dtype), passed_[p].begins_at,
                        passed_[p].maker, passed_[p].maker, place_of_passed(static_cast<int>(p), true));
  }
  return text + "  cuda::cluster_barrier();  // all have begun\n";
}

std::string LoopCode::pointwise_text(std::size_t i) const {
  const Member& m = members_[i];
  const DeviceCode& code = *m.pointwise->code;
  std::string text = fmt::format("    {{\n      part{0}::Arguments own = a.part{0};\n", i);
  for (std::size_t k = 0; k < code.inputs(); ++k) {
    text +=
        fmt::format("      own.x{0} = loop::address<const {1}>(a.places[{2}], step);\n", k, code.type_of_input(k), m.place + k);
  }
  for (std::size_t d = 0; d < code.draws().size(); ++d) {
    text += fmt::format(
        "      own.draw{0}.row = fold_coordinate(own.draw{0}.row, static_cast<std::uint64_t>(step.position()));\n", d);
  }
  std::string results;
  for (std::size_t r = 0; r < m.pointwise->results; ++r) {
    results += fmt::format(", loop::address<{}>(a.places[{}], step)", code.type_of_result(r), m.place + m.inputs + r);
    if (m.passes[r] >= 0) results += ", " + place_of_passed(m.passes[r], false);
  }
  text += fmt::format(
      "      a.wide{0} ? part{0}::run<4>(own{1}, part, a.rows{0}, a.columns{0}) : part{0}::run<1>(own{1}, part, a.rows{0}, "
      "a.columns{0});\n",
      i, results);
  return text + "    }\n";
}

}  // namespace graphrun
