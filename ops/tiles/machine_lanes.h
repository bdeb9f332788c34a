// The steps of a pointwise program on one register of elements: what all machine code for such programs has inside its loops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ops/tiles/machine_code.h"
#include "ops/tiles/machine_lines.h"

namespace graphrun::machine {

inline constexpr std::size_t kLanes = 16;
// How many elements ahead an operand is prefetched. The processor's own prefetching stops at each page, and a beam search reads
// operands that are in no cache close by: with 2 KiB, attention takes 0.6 of the time.
inline constexpr int kAhead = 512;

struct Arguments {
  x86::Gp inputs, results, n, rows, strides;
};

class MachineLanes {
 public:
  MachineLanes(Writer& writer, std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs)
      : writer_(writer), cc_(writer.cc), steps_(steps), inputs_(inputs) {}

  // The addresses of the inputs in this row, and the next element of the row.
  std::vector<x86::Gp> from;
  x86::Gp at;

  std::vector<x86::Gp> load_addresses(x86::Gp list, std::size_t count) const {
    std::vector<x86::Gp> addresses;
    for (std::size_t k = 0; k < count; ++k) {
      addresses.push_back(cc_.newUIntPtr());
      cc_.mov(addresses.back(), x86::qword_ptr(list, static_cast<std::int32_t>(8 * k)));
    }
    return addresses;
  }

  // Loads the inputs that have one element for a whole row.
  void load_scalars() {
    scalars_.clear();
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      scalars_.push_back(inputs_[k].scalar ? std::optional<Value>(load_scalar(k)) : std::nullopt);
    }
  }

  // The result of each step for elements [at + shift, at + shift + kLanes), or those under the mask.
  std::vector<Value> evaluate(const x86::KReg* mask, int shift = 0) {
    std::vector<std::optional<Value>> inputs = scalars_;
    std::vector<Value> made;
    const auto value = [&](const TileOperand& o, DType dtype) -> Value {
      switch (o.kind) {
        case TileOperand::Kind::kInstruction: return made[o.index];
        case TileOperand::Kind::kInput:
          if (!inputs[o.index]) inputs[o.index] = load(o.index, mask, shift);
          return *inputs[o.index];
        case TileOperand::Kind::kNumber: break;
      }
      switch (dtype) {
        case DType::kFloat32: return F32(static_cast<float>(o.number)).on(writer_);
        case DType::kInt32: return I32(static_cast<std::int32_t>(o.number)).on(writer_);
        default: throw NoCode();
      }
    };
    for (const TileStep& s : steps_) {
      std::vector<Value> in;
      for (std::size_t k = 0; k < static_cast<std::size_t>(s.arity); ++k)
        in.push_back(value(s.operands[k], s.operand_dtype(k)));
      made.push_back(s.line == kCastLine ? write_cast(in[0], s.dtype) : kLines[s.line](s.read, in));
    }
    return made;
  }

  void store(const Value& value, x86::Gp to, const x86::KReg* mask, int shift = 0) const {
    if (const Bool* b = std::get_if<Bool>(&value)) {
      const x86::Xmm bytes = cc_.newXmm();
      const x86::Zmm ones = select(static_cast<Mask>(*b), I32(1), I32(0)).reg();
      cc_.vpmovdb(bytes, ones);
      if (mask != nullptr) cc_.k(*mask);
      cc_.vmovdqu8(elements(to, shift, 1), bytes);
      return;
    }
    const x86::Zmm v =
        std::holds_alternative<F32>(value) ? std::get<F32>(value).reg(writer_) : std::get<I32>(value).reg(writer_);
    if (mask != nullptr) cc_.k(*mask);
    cc_.vmovups(elements(to, shift, 4), v);
  }

 private:
  Value load_scalar(std::size_t k) const {
    const x86::Zmm all = cc_.newZmm();
    switch (inputs_[k].dtype) {
      case DType::kFloat32: cc_.vbroadcastss(all, x86::dword_ptr(from[k])); return F32(writer_, all);
      case DType::kInt32: cc_.vpbroadcastd(all, x86::dword_ptr(from[k])); return I32(writer_, all);
      case DType::kBool: {
        const x86::Gp byte = cc_.newUInt32();
        cc_.movzx(byte, x86::byte_ptr(from[k]));
        cc_.vpbroadcastd(all, byte);
        return truth_of(all);
      }
      case DType::kFloat64: break;
    }
    throw NoCode();
  }

  Bool truth_of(x86::Zmm x) const {
    const x86::KReg k = cc_.newKw();
    cc_.vptestmd(k, x, x);
    return Mask{&writer_, k};
  }

  // The memory operand for a register's elements of `bytes` each: 1 or 4.
  x86::Mem elements(x86::Gp base, int shift, int bytes) const {
    return x86::Mem(base, at, bytes == 1 ? 0 : 2, shift * bytes, static_cast<std::uint32_t>(bytes) * kLanes);
  }

  Value load(std::size_t k, const x86::KReg* mask, int shift) const {
    const x86::Zmm v = cc_.newZmm();
    const bool is_bool = inputs_[k].dtype == DType::kBool;
    if (mask != nullptr) cc_.k(*mask).z();
    if (is_bool) {
      cc_.vpmovzxbd(v, elements(from[k], shift, 1));
      return truth_of(v);
    }
    if (inputs_[k].dtype == DType::kFloat64) throw NoCode();
    cc_.vmovups(v, elements(from[k], shift, 4));
    if (mask == nullptr) cc_.prefetcht0(elements(from[k], shift + kAhead, 4));
    return inputs_[k].dtype == DType::kFloat32 ? Value(F32(writer_, v)) : Value(I32(writer_, v));
  }

  Writer& writer_;
  x86::Compiler& cc_;
  std::span<const TileStep> steps_;
  const std::vector<MachineCode::Input>& inputs_;
  std::vector<std::optional<Value>> scalars_;
};

}  // namespace graphrun::machine
