// NVIDIA's library for communication between GPUs. It is loaded when several processes train on GPUs, so these are its types
// and values as <nccl.h> declares them since NCCL 2.14; its header is not needed to build.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "runtime/communicator/device_group.h"

namespace graphrun::cuda {

struct NcclCommunicator;
using NcclComm = NcclCommunicator*;
using NcclResult = int;
inline constexpr NcclResult kNcclSuccess = 0, kNcclSystemError = 2, kNcclInProgress = 7;
inline constexpr int kNcclFloat32 = 7;     // ncclDataType_t
inline constexpr int kNcclSum = 0;         // ncclRedOp_t
inline constexpr int kOldestNccl = 21400;  // 2.14.0, as ncclGetVersion counts: the first with NcclConfig
inline constexpr int kNcclIdBytes = 128;

struct NcclId {
  char bytes[kNcclIdBytes];
};

// The beginning of ncclConfig_t, which is all of it in version 2.14. Newer libraries accept the configuration of an older one.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldestNccl;
  int blocking = 0;  // 0: functions return while they are in progress, so that a lost process cannot block them
};

// `stream`: a cudaStream_t.
struct NcclFunctions {
  NcclResult (*get_version)(int* version) = nullptr;
  NcclResult (*get_unique_id)(NcclId* id) = nullptr;
  NcclResult (*comm_init_rank_config)(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) = nullptr;
  NcclResult (*comm_get_async_error)(NcclComm comm, NcclResult* error) = nullptr;
  NcclResult (*comm_abort)(NcclComm comm) = nullptr;
  NcclResult (*comm_destroy)(NcclComm comm) = nullptr;
  NcclResult (*group_start)() = nullptr;
  NcclResult (*group_end)() = nullptr;
  NcclResult (*send)(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream) = nullptr;
  NcclResult (*receive)(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream) = nullptr;
  NcclResult (*all_gather)(const void* from, void* to, std::size_t count, int type, NcclComm comm, void* stream) = nullptr;
  NcclResult (*all_reduce)(const void* from, void* to, std::size_t count, int type, int op, NcclComm comm,
                           void* stream) = nullptr;
  const char* (*get_error_string)(NcclResult result) = nullptr;
  const char* (*get_last_error)(NcclComm comm) = nullptr;

  // Calls take(function, "its name") for each of them.
  template <class Take>
  void each(Take&& take) {
    take(get_version, "ncclGetVersion");
    take(get_unique_id, "ncclGetUniqueId");
    take(comm_init_rank_config, "ncclCommInitRankConfig");
    take(comm_get_async_error, "ncclCommGetAsyncError");
    take(comm_abort, "ncclCommAbort");
    take(comm_destroy, "ncclCommDestroy");
    take(group_start, "ncclGroupStart");
    take(group_end, "ncclGroupEnd");
    take(send, "ncclSend");
    take(receive, "ncclRecv");
    take(all_gather, "ncclAllGather");
    take(all_reduce, "ncclAllReduce");
    take(get_error_string, "ncclGetErrorString");
    take(get_last_error, "ncclGetLastError");
  }
};

// The library: libnccl.so.2, or the file that the environment variable GRAPHRUN_NCCL_LIBRARY names; for emulated devices,
// libnccl_emulated.so from the folder of the core library. Null if it does not load, with the reason in `why`.
const NcclFunctions* nccl_functions(std::string& why);

// For DeviceLibrary.
std::string nccl_version(std::string& why);  // "NCCL 2.28.9"
std::unique_ptr<DeviceGroup> join_nccl(Backend& device, Communicator& together);

}  // namespace graphrun::cuda
