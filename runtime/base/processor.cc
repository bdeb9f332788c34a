#include "runtime/base/processor.h"

#include <cstddef>

#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <libxsmm.h>
#endif

namespace graphrun {

namespace {

// Tries both ways that the libraries use: mapping memory writable and executable, and making written memory executable.
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

}  // namespace

bool may_write_code() {
  static const bool may = try_to_write_code();
  return may;
}

bool multiplies_bfloat16() {
#if defined(__x86_64__)
  static const bool yes = may_write_code() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16") &&
                          libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512_CPX;
  return yes;
#else
  return false;
#endif
}

}  // namespace graphrun
