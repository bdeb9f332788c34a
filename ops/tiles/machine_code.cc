#include "ops/tiles/machine_code.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "ops/tiles/fold_code.h"
#include "runtime/base/processor.h"

namespace graphrun {
namespace {

std::atomic<bool>& wanted() {
  static std::atomic<bool> is([] {
    const char* said = std::getenv("GRAPHRUN_MACHINE_CODE");
    return may_write_code() && (said == nullptr || std::string_view(said) != "0");
  }());
  return is;
}

}  // namespace

void use_machine_code(bool use) { wanted().store(use, std::memory_order_relaxed); }

}  // namespace graphrun

#if defined(GRAPHRUN_ASMJIT)
#include "ops/tiles/machine_folds.h"
#include "ops/tiles/machine_lanes.h"

namespace graphrun {
namespace {

namespace x86 = asmjit::x86;
using machine::Arguments;
using machine::kLanes;
using machine::NoCode;
using machine::Value;
using machine::Writer;

constexpr std::size_t kMostNumbers = 256;

// Records the first error: later code may be incomplete, and asmjit's calls need not report that.
class FirstError : public asmjit::ErrorHandler {
 public:
  void handleError(asmjit::Error error, const char*, asmjit::BaseEmitter*) override {
    if (first == asmjit::kErrorOk) first = error;
  }
  asmjit::Error first = asmjit::kErrorOk;
};

// The function around the steps: loops over rows and, within a row, over groups of 16 elements, the last one masked.
class Body {
 public:
  Body(machine::Writer& writer, std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs)
      : cc_(writer.cc), steps_(steps), inputs_(inputs.size()), lanes_(writer, steps, inputs) {}

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
    const x86::Gp at = lanes_.at = cc_.newUInt64();

    cc_.bind(row);
    lanes_.load_scalars();
    cc_.xor_(at.r32(), at.r32());
    cc_.test(whole, whole);
    cc_.jz(tail);
    cc_.bind(again);
    write_lanes(nullptr);
    cc_.add(at, asmjit::imm(kLanes));
    cc_.cmp(at, whole);
    cc_.jb(again);
    cc_.bind(tail);
    cc_.test(rest, rest);
    cc_.jz(end_of_row);
    write_lanes(&mask);
    cc_.bind(end_of_row);
    cc_.dec(a.rows);
    cc_.jz(end);
    std::int32_t k = 0;
    for (const std::vector<x86::Gp>* addresses : {&lanes_.from, &to_}) {
      for (const x86::Gp& address : *addresses) cc_.add(address, x86::qword_ptr(a.strides, 8 * k++));
    }
    cc_.jmp(row);
    cc_.bind(end);
    const x86::Gp done = cc_.newUInt32();
    cc_.xor_(done, done);
    cc_.ret(done);
  }

 private:
  void load_addresses(const Arguments& a) {
    std::size_t results = 0;
    for (const TileStep& s : steps_) results = std::max(results, static_cast<std::size_t>(s.result + 1));
    lanes_.from = lanes_.load_addresses(a.inputs, inputs_);
    to_ = lanes_.load_addresses(a.results, results);
  }

  // Writes code for elements [at, at + kLanes), or those under the mask.
  void write_lanes(const x86::KReg* mask) {
    const std::vector<Value> made = lanes_.evaluate(mask);
    // Stores come last: a result may alias an input.
    for (std::size_t s = 0; s < steps_.size(); ++s) {
      if (steps_[s].result >= 0) lanes_.store(made[s], to_[static_cast<std::size_t>(steps_[s].result)], mask);
    }
  }

  x86::Compiler& cc_;
  std::span<const TileStep> steps_;
  const std::size_t inputs_;
  machine::MachineLanes lanes_;
  std::vector<x86::Gp> to_;
};

bool processor_has_it() {
  static const bool has = [] {
    const auto& features = asmjit::CpuInfo::host().features().x86();
    return features.hasAVX512_F() && features.hasAVX512_BW() && features.hasAVX512_DQ() && features.hasAVX512_VL() &&
           features.hasBMI2();
  }();
  return has;
}

bool is_wanted() { return wanted().load(std::memory_order_relaxed) && processor_has_it(); }

// All generated code; it lives as long as the program.
class Library {
 public:
  static Library& instance() {
    static Library* const library = new Library();  // never destroyed: threads may run its code while the program exits
    return *library;
  }

  // A MachineCode, or a FoldCode if there are folds; null if there is no code.
  template <class T>
  std::shared_ptr<const T> find_or_make(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                                        std::span<const ir::Fold> folds) {
    const std::string key = key_of(steps, inputs, folds);
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = made_.emplace(key, nullptr);
    if (fresh) {
      if (const auto code = make(steps, inputs, folds)) it->second = std::make_shared<const T>(code);
    }
    return std::static_pointer_cast<const T>(it->second);
  }

 private:
  static std::string key_of(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                            std::span<const ir::Fold> folds) {
    std::string key;
    const auto add = [&](std::uint64_t x) { key.append(reinterpret_cast<const char*>(&x), sizeof x); };
    add(folds.size());
    for (const ir::Fold& f : folds) add(static_cast<std::uint64_t>(f.kind)), add(f.result);
    for (const MachineCode::Input& i : inputs) add(static_cast<std::uint64_t>(i.dtype) * 2 + i.scalar);
    for (const TileStep& s : steps) {
      add(s.line), add(static_cast<std::uint64_t>(s.dtype)), add(static_cast<std::uint64_t>(s.read));
      add(static_cast<std::uint64_t>(s.arity)), add(static_cast<std::uint64_t>(s.result));
      for (int k = 0; k < s.arity; ++k) {
        const TileOperand& o = s.operands[static_cast<std::size_t>(k)];
        add(static_cast<std::uint64_t>(o.kind)), add(o.index);
        add(std::bit_cast<std::uint64_t>(o.number));
      }
    }
    return key;
  }

  FoldCode::Code make(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                      std::span<const ir::Fold> folds) {
    asmjit::CodeHolder code;
    if (code.init(runtime_.environment()) != asmjit::kErrorOk) return nullptr;
    FirstError error;
    code.setErrorHandler(&error);
    x86::Compiler cc(&code);
    using Signature = asmjit::FuncSignatureT<std::uint32_t, const void*, void*, std::size_t, std::size_t, const void*>;
    asmjit::FuncNode* function = cc.addFunc(Signature(asmjit::CallConvId::kHost));
    if (function == nullptr) throw std::bad_alloc();
    function->frame().setAvxEnabled();
    function->frame().setAvx512Enabled();
    function->frame().setAvxCleanup();
    const Arguments arguments = {cc.newUIntPtr(), cc.newUIntPtr(), cc.newUInt64(), cc.newUInt64(), cc.newUIntPtr()};
    const x86::Gp numbers_at = cc.newUIntPtr();
    function->setArg(0, arguments.inputs), function->setArg(1, arguments.results), function->setArg(2, arguments.n);
    function->setArg(3, arguments.rows), function->setArg(4, arguments.strides);
    auto numbers = std::make_unique<std::vector<std::uint32_t>>();
    numbers->reserve(kMostNumbers);
    Writer writer{cc, numbers_at, *numbers};
    cc.mov(numbers_at, asmjit::imm(reinterpret_cast<std::uintptr_t>(numbers->data())));
    bool written = true;
    try {
      if (folds.empty()) {
        Body(writer, steps, inputs).write(arguments);
      } else {
        machine::Folds(writer, steps, inputs, folds).write(arguments);
      }
    } catch (const NoCode&) {
      written = false;
    }
    FoldCode::Code entry = nullptr;
    const bool whole = written && cc.endFunc() == asmjit::kErrorOk && cc.finalize() == asmjit::kErrorOk;
    if (error.first == asmjit::kErrorOutOfMemory) throw std::bad_alloc();
    // If the system does not allow run-time code, tiles do the work.
    if (!whole || error.first != asmjit::kErrorOk || runtime_.add(&entry, &code) != asmjit::kErrorOk) return nullptr;
    numbers_.push_back(std::move(numbers));
    return entry;
  }

  std::mutex mutex_;
  asmjit::JitRuntime runtime_;
  std::map<std::string, std::shared_ptr<const void>> made_;
  std::vector<std::unique_ptr<std::vector<std::uint32_t>>> numbers_;
};

}  // namespace

std::shared_ptr<const MachineCode> MachineCode::of(std::span<const TileStep> steps, const std::vector<Input>& inputs) {
  return is_wanted() ? Library::instance().find_or_make<MachineCode>(steps, inputs, {}) : nullptr;
}

std::shared_ptr<const FoldCode> FoldCode::of(std::span<const TileStep> steps, const std::vector<MachineCode::Input>& inputs,
                                             std::span<const ir::Fold> folds) {
  if (folds.empty() || !is_wanted()) return nullptr;
  return Library::instance().find_or_make<FoldCode>(steps, inputs, folds);
}

}  // namespace graphrun

// Debian's static library of asmjit is built for executables. Only one member cannot go into a shared library, because it
// prints to stderr; these are its definitions, so that the linker leaves it out.
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

std::shared_ptr<const FoldCode> FoldCode::of(std::span<const TileStep>, const std::vector<MachineCode::Input>&,
                                             std::span<const ir::Fold>) {
  return nullptr;
}

}  // namespace graphrun

#endif
