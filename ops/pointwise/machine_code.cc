#include "ops/pointwise/machine_code.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#if defined(GRAPHRUN_ASMJIT)
#include "ops/pointwise/machine_lines.h"

namespace graphrun {
namespace {

namespace x86 = asmjit::x86;
using machine::Bool;
using machine::F32;
using machine::I32;
using machine::Mask;
using machine::NoCode;
using machine::Value;
using machine::Writer;

constexpr std::size_t kLanes = 16, kMostNumbers = 256;

// The function around the steps: rows, and in each of them 16 elements at a time, the rest under a mask.
class Body {
 public:
  Body(Writer& writer, std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs)
      : cc_(writer.cc), steps_(steps), inputs_(inputs) {}

  struct Arguments {
    x86::Gp inputs, results, n, rows, strides;
  };
  void write(const Arguments& a) {
    load_addresses(a);
    const x86::Gp whole = cc_.newUInt64(), rest = cc_.newUInt64(), first = cc_.newUInt64();
    const x86::KReg mask = cc_.newKw();
    const asmjit::Label row = cc_.newLabel(), again = cc_.newLabel(), tail = cc_.newLabel(), end_of_row = cc_.newLabel(),
                        end = cc_.newLabel();
    cc_.mov(whole, a.n);
    cc_.and_(whole, asmjit::imm(-static_cast<int>(kLanes)));
    cc_.mov(rest, a.n);
    cc_.and_(rest, asmjit::imm(kLanes - 1));
    cc_.mov(first.r32(), asmjit::imm(-1));
    cc_.bzhi(first.r32(), first.r32(), rest.r32());
    cc_.kmovw(mask, first.r32());
    at_ = cc_.newUInt64();

    cc_.bind(row);
    load_scalars();
    cc_.xor_(at_.r32(), at_.r32());
    cc_.test(whole, whole);
    cc_.jz(tail);
    cc_.bind(again);
    write_lanes(nullptr);
    cc_.add(at_, asmjit::imm(kLanes));
    cc_.cmp(at_, whole);
    cc_.jb(again);
    cc_.bind(tail);
    cc_.test(rest, rest);
    cc_.jz(end_of_row);
    write_lanes(&mask);
    cc_.bind(end_of_row);
    cc_.dec(a.rows);
    cc_.jz(end);
    std::int32_t k = 0;
    for (const std::vector<x86::Gp>* addresses : {&from_, &to_}) {
      for (const x86::Gp& address : *addresses) cc_.add(address, x86::qword_ptr(a.strides, 8 * k++));
    }
    cc_.jmp(row);
    cc_.bind(end);
  }

 private:
  void load_addresses(const Arguments& a) {
    std::size_t results = 0;
    for (const TileStep& s : steps_) results = std::max(results, static_cast<std::size_t>(s.result + 1));
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      from_.push_back(cc_.newUIntPtr());
      cc_.mov(from_.back(), x86::qword_ptr(a.inputs, static_cast<std::int32_t>(8 * k)));
    }
    for (std::size_t r = 0; r < results; ++r) {
      to_.push_back(cc_.newUIntPtr());
      cc_.mov(to_.back(), x86::qword_ptr(a.results, static_cast<std::int32_t>(8 * r)));
    }
  }

  void load_scalars() {
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      scalars_.push_back(inputs_[k].scalar ? std::optional<Value>(load_scalar(k)) : std::nullopt);
    }
  }

  Value load_scalar(std::size_t k) {
    const x86::Zmm all = cc_.newZmm();
    switch (inputs_[k].dtype) {
      case DType::kFloat32: cc_.vbroadcastss(all, x86::dword_ptr(from_[k])); return F32(all);
      case DType::kInt32: cc_.vpbroadcastd(all, x86::dword_ptr(from_[k])); return I32(all);
      case DType::kBool: {
        const x86::Gp byte = cc_.newUInt32();
        cc_.movzx(byte, x86::byte_ptr(from_[k]));
        cc_.vpbroadcastd(all, byte);
        return truth_of(all);
      }
      case DType::kFloat64: break;
    }
    throw NoCode();
  }

  Bool truth_of(x86::Zmm x) {
    const x86::KReg k = cc_.newKw();
    cc_.vptestmd(k, x, x);
    return Mask{k};
  }

  // Elements [at, at + kLanes), or those under the mask.
  void write_lanes(const x86::KReg* mask) {
    std::vector<std::optional<Value>> inputs = scalars_;
    std::vector<Value> made;
    const auto value = [&](const TileOperand& o) -> Value {
      switch (o.kind) {
        case TileOperand::Kind::kStep: return made[o.index];
        case TileOperand::Kind::kInput:
          if (!inputs[o.index]) inputs[o.index] = load(o.index, mask);
          return *inputs[o.index];
        case TileOperand::Kind::kNumber: break;
      }
      switch (o.dtype) {
        case DType::kFloat32: return F32(static_cast<float>(o.number));
        case DType::kInt32: return I32(static_cast<std::int32_t>(o.number));
        default: throw NoCode();
      }
    };
    for (const TileStep& s : steps_) {
      std::vector<Value> in;
      for (int k = 0; k < s.arity; ++k) in.push_back(value(s.operands[static_cast<std::size_t>(k)]));
      made.push_back(s.line == kCastLine ? machine::write_cast(in[0], s.dtype) : machine::kLines[s.line](s.read, in));
    }
    // Last: a result may lie where an input does.
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].result >= 0) store(made[s], steps_[s].result, mask);
    }
  }

  x86::Mem elements(x86::Gp base, std::uint32_t shift, std::uint32_t bytes) const {
    return x86::Mem(base, at_, shift, 0, bytes);
  }

  Value load(std::size_t k, const x86::KReg* mask) {
    const x86::Zmm v = cc_.newZmm();
    const bool is_bool = inputs_[k].dtype == DType::kBool;
    if (mask != nullptr) cc_.k(*mask).z();
    if (is_bool) {
      cc_.vpmovzxbd(v, elements(from_[k], 0, 16));
      return truth_of(v);
    }
    if (inputs_[k].dtype == DType::kFloat64) throw NoCode();
    cc_.vmovups(v, elements(from_[k], 2, 64));
    return inputs_[k].dtype == DType::kFloat32 ? Value(F32(v)) : Value(I32(v));
  }

  void store(const Value& value, int result, const x86::KReg* mask) {
    const x86::Gp to = to_[static_cast<std::size_t>(result)];
    if (const Bool* b = std::get_if<Bool>(&value)) {
      const x86::Xmm bytes = cc_.newXmm();
      const x86::Zmm ones = select(static_cast<Mask>(*b), I32(1), I32(0)).reg();
      cc_.vpmovdb(bytes, ones);
      if (mask != nullptr) cc_.k(*mask);
      cc_.vmovdqu8(elements(to, 0, 16), bytes);
      return;
    }
    const x86::Zmm v = std::holds_alternative<F32>(value) ? std::get<F32>(value).reg() : std::get<I32>(value).reg();
    if (mask != nullptr) cc_.k(*mask);
    cc_.vmovups(elements(to, 2, 64), v);
  }

  x86::Compiler& cc_;
  std::span<const TileStep> steps_;
  const std::vector<MachineCode::Input>& inputs_;
  std::vector<x86::Gp> from_, to_;
  std::vector<std::optional<Value>> scalars_;
  x86::Gp at_;
};

bool processor_has_it() {
  static const bool has = [] {
    const auto& features = asmjit::CpuInfo::host().features().x86();
    return features.hasAVX512_F() && features.hasAVX512_BW() && features.hasAVX512_DQ() && features.hasAVX512_VL() &&
           features.hasBMI2();
  }();
  return has;
}

// All code that was made; it lives as long as the program.
class Library {
 public:
  static Library& instance() {
    static Library* const library = new Library();  // threads may run its code while the program ends
    return *library;
  }

  std::shared_ptr<const MachineCode> find_or_make(std::span<const TileStep> steps,
                                                  const std::vector<MachineCode::Input>& inputs) {
    const std::string key = key_of(steps, inputs);
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = made_.emplace(key, nullptr);
    if (fresh) it->second = make(steps, inputs);
    return it->second;
  }

 private:
  static std::string key_of(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs) {
    std::string key;
    const auto add = [&](std::uint64_t x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
    for (const MachineCode::Input& i : inputs) add(static_cast<std::uint64_t>(i.dtype) * 2 + i.scalar);
    for (const TileStep& s : steps) {
      add(s.line), add(static_cast<std::uint64_t>(s.dtype)), add(static_cast<std::uint64_t>(s.read));
      add(static_cast<std::uint64_t>(s.arity)), add(static_cast<std::uint64_t>(s.result));
      for (int k = 0; k < s.arity; ++k) {
        const TileOperand& o = s.operands[static_cast<std::size_t>(k)];
        add(static_cast<std::uint64_t>(o.kind)), add(o.index);
        add(std::bit_cast<std::uint64_t>(o.number)), add(static_cast<std::uint64_t>(o.dtype));
      }
    }
    return key;
  }

  std::shared_ptr<const MachineCode> make(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs) {
    asmjit::CodeHolder code;
    if (code.init(runtime_.environment()) != asmjit::kErrorOk) return nullptr;
    x86::Compiler cc(&code);
    using Signature = asmjit::FuncSignatureT<void, const void*, void*, std::size_t, std::size_t, const void*>;
    asmjit::FuncNode* function = cc.addFunc(Signature(asmjit::CallConvId::kHost));
    function->frame().setAvxEnabled();
    function->frame().setAvx512Enabled();
    function->frame().setAvxCleanup();
    const Body::Arguments arguments = {cc.newUIntPtr(), cc.newUIntPtr(), cc.newUInt64(), cc.newUInt64(), cc.newUIntPtr()};
    const x86::Gp numbers_at = cc.newUIntPtr();
    function->setArg(0, arguments.inputs), function->setArg(1, arguments.results), function->setArg(2, arguments.n);
    function->setArg(3, arguments.rows), function->setArg(4, arguments.strides);
    auto numbers = std::make_unique<std::vector<std::uint32_t>>();
    numbers->reserve(kMostNumbers);
    Writer writer{cc, numbers_at, *numbers};
    cc.mov(numbers_at, asmjit::imm(reinterpret_cast<std::uintptr_t>(numbers->data())));
    machine::writer = &writer;
    bool written = true;
    try {
      Body(writer, steps, inputs).write(arguments);
    } catch (const NoCode&) {
      written = false;
    }
    machine::writer = nullptr;
    MachineCode::Code entry = nullptr;
    // Where the system admits no code made at run time, tiles do the work.
    if (!written || cc.endFunc() != asmjit::kErrorOk || cc.finalize() != asmjit::kErrorOk ||
        runtime_.add(&entry, &code) != asmjit::kErrorOk) {
      return nullptr;
    }
    numbers_.push_back(std::move(numbers));
    return std::make_shared<const MachineCode>(entry);
  }

  std::mutex mutex_;
  asmjit::JitRuntime runtime_;
  std::map<std::string, std::shared_ptr<const MachineCode>> made_;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> numbers_;
};

}  // namespace

std::shared_ptr<const MachineCode> MachineCode::of(std::span<const TileStep> steps, const std::vector<Input>& inputs) {
  return processor_has_it() ? Library::instance().find_or_make(steps, inputs) : nullptr;
}

}  // namespace graphrun

// Debian's archive of asmjit is made for programs. Of all its members one alone can't go into a shared library, for it prints
// to stderr; these are what it defines, which the linker then leaves out.
ASMJIT_BEGIN_NAMESPACE
namespace DebugUtils {
const char* errorAsString(Error) noexcept { return "error of asmjit"; }
void debugOutput(const char* text) noexcept { std::fputs(text, stderr); }
void assertionFailed(const char*, int, const char*) noexcept { std::abort(); }
}  // namespace DebugUtils
ASMJIT_END_NAMESPACE

#else

namespace graphrun {

std::shared_ptr<const MachineCode> MachineCode::of(std::span<const TileStep>, const std::vector<Input>&) { return nullptr; }

}  // namespace graphrun

#endif
