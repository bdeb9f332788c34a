// What runtime/cuda/nccl.h declares, against the header of NCCL that the toolkit has here, and against its library.
#include "runtime/cuda/nccl.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <string>
#include <type_traits>

#include "runtime/cuda/toolkit.h"
#include "tests/folders.h"

#if defined(GRAPHRUN_NCCL_HEADER)
#include <nccl.h>
#endif

namespace graphrun::cuda {
namespace {

#if defined(GRAPHRUN_NCCL_HEADER)

// Whether values of both types are passed alike: pointers, numbers of equal size, or structures of equal size.
template <class A, class B>
constexpr bool passed_alike() {
  if (std::is_pointer_v<A> || std::is_pointer_v<B>) return std::is_pointer_v<A> && std::is_pointer_v<B>;
  constexpr bool kNumberA = std::is_integral_v<A> || std::is_enum_v<A>, kNumberB = std::is_integral_v<B> || std::is_enum_v<B>;
  return kNumberA == kNumberB && sizeof(A) == sizeof(B) && alignof(A) == alignof(B);
}

template <class A, class B>
struct CalledAlike : std::false_type {};
template <class A, class... OfA, class B, class... OfB>
requires(sizeof...(OfA) == sizeof...(OfB)) struct CalledAlike<A (*)(OfA...), B (*)(OfB...)> {
  static constexpr bool value = passed_alike<A, B>() && (passed_alike<OfA, OfB>() && ...);
};

#define EXPECT_DECLARED(member, name) static_assert(CalledAlike<decltype(NcclFunctions::member), decltype(&name)>::value, #name)
EXPECT_DECLARED(get_version, ncclGetVersion);
EXPECT_DECLARED(get_unique_id, ncclGetUniqueId);
EXPECT_DECLARED(comm_init_rank_config, ncclCommInitRankConfig);
EXPECT_DECLARED(comm_get_async_error, ncclCommGetAsyncError);
EXPECT_DECLARED(comm_abort, ncclCommAbort);
EXPECT_DECLARED(comm_destroy, ncclCommDestroy);
EXPECT_DECLARED(group_start, ncclGroupStart);
EXPECT_DECLARED(group_end, ncclGroupEnd);
EXPECT_DECLARED(send, ncclSend);
EXPECT_DECLARED(receive, ncclRecv);
EXPECT_DECLARED(all_gather, ncclAllGather);
EXPECT_DECLARED(all_reduce, ncclAllReduce);
EXPECT_DECLARED(get_error_string, ncclGetErrorString);
EXPECT_DECLARED(get_last_error, ncclGetLastError);
#undef EXPECT_DECLARED
// A function with one argument fewer, or with a number for a pointer, would be noticed.
static_assert(!CalledAlike<decltype(NcclFunctions::send), decltype(&ncclAllReduce)>::value);
static_assert(!CalledAlike<decltype(NcclFunctions::get_error_string), decltype(&ncclGetLastError)>::value);

TEST(Nccl, IsDeclaredAsItsHeaderDoes) {
  EXPECT_EQ(kNcclSuccess, ncclSuccess);
  EXPECT_EQ(kNcclSystemError, ncclSystemError);
  EXPECT_EQ(kNcclInProgress, ncclInProgress);
  EXPECT_EQ(kNcclFloat32, ncclFloat32);
  EXPECT_EQ(kNcclSum, ncclSum);
  EXPECT_EQ(kNcclIdBytes, NCCL_UNIQUE_ID_BYTES);
  EXPECT_EQ(kOldestNccl, NCCL_VERSION(2, 14, 0));
  const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  const NcclConfig ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_LE(sizeof ours, sizeof theirs);
  EXPECT_EQ(offsetof(NcclConfig, size), offsetof(ncclConfig_t, size));
  EXPECT_EQ(offsetof(NcclConfig, magic), offsetof(ncclConfig_t, magic));
  EXPECT_EQ(offsetof(NcclConfig, version), offsetof(ncclConfig_t, version));
  EXPECT_EQ(offsetof(NcclConfig, blocking), offsetof(ncclConfig_t, blocking));
}

#else

TEST(Nccl, IsDeclaredAsItsHeaderDoes) { GTEST_SKIP() << "there is no nccl.h here"; }

#endif

// The functions of runtime/cuda/nccl.h that a library lacks.
std::set<std::string> missing_in(void* library) {
  std::set<std::string> missing;
  NcclFunctions().each([&](auto&, const char* name) {
    if (dlsym(library, name) == nullptr) missing.insert(name);
  });
  return missing;
}

TEST(Nccl, HasAllFunctions) {
  void* const library = open_of_toolkit({"libnccl.so.2"});
  if (library == nullptr) GTEST_SKIP() << "there is no libnccl.so.2 here";
  EXPECT_THAT(missing_in(library), testing::IsEmpty());
  int version = 0;
  ASSERT_EQ(reinterpret_cast<NcclResult (*)(int*)>(dlsym(library, "ncclGetVersion"))(&version), kNcclSuccess);
  EXPECT_GE(version, kOldestNccl);
}

TEST(Nccl, IsEmulatedWhole) {
  void* const library = dlopen((tests::build_folder() + "/libnccl_emulated.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  EXPECT_THAT(missing_in(library), testing::IsEmpty());
}

}  // namespace
}  // namespace graphrun::cuda
