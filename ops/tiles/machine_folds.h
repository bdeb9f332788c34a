// The body of a FoldCode: iterates over strips of columns, and down the rows of each.
#pragma once

#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "ops/tiles/fold_code.h"
#include "ops/tiles/machine_lanes.h"

namespace graphrun::machine {

class Folds {
 public:
  Folds(Writer& writer, std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
        std::span<const ir::Fold> folds)
      : writer_(writer), cc_(writer.cc), steps_(steps), folds_(folds), inputs_(inputs.size()), lanes_(writer, steps, inputs) {}

  void write(const Arguments& a) {
    from_ = lanes_.load_addresses(a.inputs, inputs_);
    to_ = lanes_.load_addresses(a.results, folds_.size());
    rows_ = a.rows, strides_ = a.strides;
    none_ = cc_.newKw();
    cc_.kxorw(none_, none_, none_);
    lanes_.at = cc_.newUInt64();
    cc_.xor_(lanes_.at.r32(), lanes_.at.r32());
    const x86::Gp left = cc_.newUInt64(), bits = cc_.newUInt64();
    const x86::KReg mask = cc_.newKw();
    const asmjit::Label again = cc_.newLabel(), rest = cc_.newLabel(), end = cc_.newLabel();
    cc_.mov(left, a.n);
    cc_.bind(again);
    cc_.cmp(left, asmjit::imm(kStrip * kLanes));
    cc_.jb(rest);
    write_strip(kStrip, nullptr);
    cc_.add(lanes_.at, asmjit::imm(kStrip * kLanes));
    cc_.sub(left, asmjit::imm(kStrip * kLanes));
    cc_.jmp(again);
    cc_.bind(rest);
    cc_.test(left, left);
    cc_.jz(end);
    // The number of columns in the last register, at least one.
    cc_.lea(bits, x86::ptr(left, -1));
    cc_.and_(bits, asmjit::imm(kLanes - 1));
    cc_.inc(bits);
    const x86::Gp first = cc_.newUInt32();
    cc_.mov(first, asmjit::imm(-1));
    cc_.bzhi(first, first, bits.r32());
    cc_.kmovw(mask, first);
    for (int registers = 1; registers <= kStrip; ++registers) {
      const asmjit::Label more = cc_.newLabel();
      if (registers < kStrip) {
        cc_.cmp(left, asmjit::imm(registers * static_cast<int>(kLanes)));
        cc_.ja(more);
      }
      write_strip(registers, &mask);
      if (registers < kStrip) cc_.jmp(end);
      cc_.bind(more);
    }
    cc_.bind(end);
    const x86::Gp found = cc_.newUInt32();
    cc_.kmovw(found, none_);
    cc_.ret(found);
  }

 private:
  using Kind = ir::FoldKind;
  static constexpr int kStrip = 4;  // registers of columns folded together, row by row

  // What is accumulated for a fold: a sum or an extreme.
  static Kind accumulated(Kind kind) {
    if (kind == Kind::kLogSumExp) throw NoCode();
    return adds_up(kind) ? Kind::kSum : seeks_greatest(kind) ? Kind::kMax : Kind::kMin;
  }

  // The accumulators of a result's columns, by register; the maximum and its position are found together.
  struct Running {
    std::size_t result = 0;
    Kind kind = Kind::kSum;  // kSum, kMax, kMin
    bool position = false;
    std::vector<x86::Zmm> best, at;
  };

  std::vector<Running> begin(int registers) const {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::map<std::pair<std::size_t, Kind>, Running> made;
    for (const ir::Fold& fold : folds_) {
      const Kind kind = accumulated(fold.kind);
      Running& running = made[{fold.result, kind}];
      running.result = fold.result, running.kind = kind, running.position |= gives_position(fold.kind);
    }
    std::vector<Running> all;
    for (auto& [key, running] : made) {
      for (int g = 0; g < registers; ++g) {
        running.best.push_back(F32(running.kind == Kind::kSum   ? 0.f
                                   : running.kind == Kind::kMax ? -kInfinity
                                                                : kInfinity)
                                   .reg(writer_));
        if (running.position) running.at.push_back(I32(0).reg(writer_));
      }
      all.push_back(std::move(running));
    }
    return all;
  }

  void write_strip(int registers, const x86::KReg* mask) {
    std::vector<Running> all = begin(registers);
    const x86::Zmm here = I32(0).reg(writer_), one = I32(1).reg(writer_);
    lanes_.from.clear();
    for (const x86::Gp& address : from_) {
      lanes_.from.push_back(cc_.newUIntPtr());
      cc_.mov(lanes_.from.back(), address);
    }
    const x86::Gp left = cc_.newUInt64();
    cc_.mov(left, rows_);
    const asmjit::Label row = cc_.newLabel();
    cc_.bind(row);
    lanes_.load_scalars();
    for (int g = 0; g < registers; ++g) {
      const x86::KReg* part = g + 1 == registers ? mask : nullptr;
      const std::vector<Value> made = lanes_.evaluate(part, g * static_cast<int>(kLanes));
      for (Running& running : all)
        fold(running, static_cast<std::size_t>(g), std::get<F32>(made[step_of(running.result)]), here, part);
    }
    cc_.vpaddd(here, here, one);
    for (std::size_t k = 0; k < inputs_; ++k) {
      cc_.add(lanes_.from[k], x86::qword_ptr(strides_, static_cast<std::int32_t>(8 * k)));
    }
    cc_.dec(left);
    cc_.jnz(row);
    for (int g = 0; g < registers; ++g) store(all, g, g + 1 == registers ? mask : nullptr);
  }

  void fold(Running& running, std::size_t g, F32 value, x86::Zmm here, const x86::KReg* part) {
    const x86::Zmm x = value.reg(writer_), best = running.best[g];
    if (running.kind == Kind::kSum) {
      cc_.vaddps(best, best, x);
      return;
    }
    const bool greatest = running.kind == Kind::kMax;
    constexpr int kUnordered = 3;
    const x86::KReg nan = cc_.newKw();
    if (part != nullptr) cc_.k(*part);
    cc_.vcmpps(nan, x, x, asmjit::imm(kUnordered));
    cc_.korw(none_, none_, nan);
    if (running.position) {
      const Mask better = greatest ? F32(writer_, x) > F32(writer_, best) : F32(writer_, x) < F32(writer_, best);
      cc_.k(better.k).vmovdqa32(running.at[g], here);
    }
    // For zeros of either sign, the instruction returns the second operand: the last zero if positions are found, else the
    // first.
    const x86::Zmm left = running.position ? best : x, right = running.position ? x : best;
    greatest ? cc_.vmaxps(best, left, right) : cc_.vminps(best, left, right);
  }

  void store(const std::vector<Running>& all, int g, const x86::KReg* mask) const {
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      const ir::Fold& fold = folds_[f];
      for (const Running& running : all) {
        if (running.result != fold.result || running.kind != accumulated(fold.kind)) continue;
        const auto k = static_cast<std::size_t>(g);
        const Value value =
            gives_position(fold.kind) ? Value(I32(writer_, running.at[k])) : Value(F32(writer_, running.best[k]));
        lanes_.store(value, to_[f], mask, g * static_cast<int>(kLanes));
      }
    }
  }

  std::size_t step_of(std::size_t result) const {
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].result == static_cast<int>(result) && steps_[s].dtype == DType::kFloat32) return s;
    }
    throw NoCode();
  }

  Writer& writer_;
  x86::Compiler& cc_;
  std::span<const TileStep> steps_;
  std::span<const ir::Fold> folds_;
  const std::size_t inputs_;
  MachineLanes lanes_;
  std::vector<x86::Gp> from_, to_;
  x86::Gp rows_, strides_;
  x86::KReg none_;  // lanes in which there was a NaN
};

}  // namespace graphrun::machine
