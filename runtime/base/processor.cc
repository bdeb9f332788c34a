#include "runtime/base/processor.h"

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

namespace graphrun {

namespace {

// Tries both ways to get such memory: mapping memory writable and executable, and making written memory executable.
bool try_to_write_code() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto map = [&](int protection) { return mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
  void* const both = map(PROT_READ | PROT_WRITE | PROT_EXEC);
  if (both == MAP_FAILED) return false;
  munmap(both, bytes);
  void* const written = map(PROT_READ | PROT_WRITE);
  if (written == MAP_FAILED) return false;
  *static_cast<volatile char*>(written) = 1;
  const bool may =
      mprotect(written, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) == 0 && mprotect(written, bytes, PROT_READ | PROT_EXEC) == 0;
  munmap(written, bytes);
  return may;
}

#if defined(__x86_64__)

constexpr unsigned int kAmxBFloat16 = 1U << 22, kAmxTile = 1U << 24, kAmxInt8 = 1U << 25;  // in edx of CPUID's leaf 7

// Linux requires a request, because tiles make the state of a thread 8 KiB larger.
bool may_use_tiles() {
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool may = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return may;
}

bool has_amx(unsigned int feature) {
  unsigned int a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kAmxTile) != 0 && (d & feature) != 0 && may_use_tiles();
}

#else

constexpr unsigned int kAmxBFloat16 = 0, kAmxInt8 = 0;
bool has_amx(unsigned int) { return false; }

#endif

}  // namespace

bool amx_multiplies_int8() {
  static const bool yes = has_amx(kAmxInt8);
  return yes;
}

bool amx_multiplies_bfloat16() {
  static const bool yes = has_amx(kAmxBFloat16);
  return yes;
}

bool gains_from_prefetching() {
#if defined(__x86_64__)
  static const bool gains = __builtin_cpu_is("amd") == 0;
  return gains;
#else
  return true;
#endif
}

bool may_write_code() {
  static const bool may = try_to_write_code();
  return may;
}

bool multiplies_bfloat16() {
#if defined(__x86_64__)
  static const bool yes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
  return yes;
#else
  return false;
#endif
}

}  // namespace graphrun
