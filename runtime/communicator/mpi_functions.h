// The interface between the communicator and the plug-ins for MPI libraries. The binary interfaces of MPI libraries differ, so
// these plain C functions wrap them; runtime/mpi/plugin.cc implements them and is compiled once for each library.
//
// Threads: one thread must make all calls, from start() to finish() (MPI_THREAD_FUNNELED).
#pragma once

#include <cstddef>

namespace graphrun {

extern "C" {

// Errors are MPI error codes; 0 means success.
struct MpiFunctions {
  // Initializes MPI. Returns an error code.
  int (*start)();
  // Finalizes MPI: waits until every process calls it.
  void (*finish)();
  int (*rank)();
  int (*size)();
  // "Open MPI 4.1.4"
  const char* (*version)();
  // Writes the description of an error into `text`, which has room for kMpiErrorText + 1 bytes; it ends with a zero.
  void (*error_text)(int error, char* text);
  // Start a message of `bytes` bytes, at most INT_MAX. Its memory must remain valid until test() returns nonzero. Messages
  // between two processes that have the same tag arrive in the order in which they were sent. `from` below 0: any process.
  // Return a request for test() or cancel(); on failure, null and an error code in `error`.
  void* (*send)(const void* data, std::size_t bytes, int to, int tag, int* error);
  void* (*receive)(void* data, std::size_t bytes, int from, int tag, int* error);
  // Returns 1 if the message is complete, 0 if it is in progress, -1 if it failed, with an error code in `error`; unless 0, the
  // request is freed. After a receive, `source` is the rank of the sender and `got` the size of the message in bytes.
  int (*test)(void* request, int* source, std::size_t* got, int* error);
  // Cancels a receive and frees the request.
  void (*cancel)(void* request);
};

}  // extern "C"

inline constexpr std::size_t kMpiErrorText = 511;

// The only symbol that a plug-in exports.
using FindMpiFunctions = const MpiFunctions* (*)();
inline constexpr const char* kMpiFunctionsSymbol = "graphrun_mpi_functions";

}  // namespace graphrun
