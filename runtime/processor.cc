#include "runtime/processor.h"

#if defined(__x86_64__)
#include <libxsmm.h>
#endif

namespace graphrun {

bool multiplies_bfloat16() {
#if defined(__x86_64__)
  static const bool yes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16") &&
                          libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512_CPX;
  return yes;
#else
  return false;
#endif
}

}  // namespace graphrun
