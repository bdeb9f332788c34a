// The functions that a plug-in gives to the communicator: MPI as plain C functions, so that one graphrun works with libraries
// whose binary interfaces differ. runtime/mpi/plugin.cc implements them and is compiled once for each MPI library.
//
// Threads: one thread makes every call (MPI_THREAD_FUNNELED), from start() to finish().
#pragma once

#include <cstddef>

namespace graphrun {

extern "C" {

// An error is an MPI error code, never 0; error_text() describes it.
struct MpiFunctions {
  // Joins the processes that the launcher started. 0, or an error.
  int (*start)();
  // Waits until every process calls it.
  void (*finish)();
  int (*rank)();
  int (*size)();
  // "Open MPI 4.1.4"
  const char* (*version)();
  // Puts a text of up to kMpiErrorText characters, with a zero behind it, into `text`.
  void (*error_text)(int error, char* text);
  // Begin a message of `bytes` bytes, at most INT_MAX, whose memory must stay until test() is positive. Messages between two
  // processes with one tag arrive in the order in which they were begun. `from` below 0: from any process. Null: the error is
  // in `error`.
  void* (*send)(const void* data, std::size_t bytes, int to, int tag, int* error);
  void* (*receive)(void* data, std::size_t bytes, int from, int tag, int* error);
  // Above 0: the message is done, and `request` no longer exists. 0: it is under way. Below 0: it failed, and `error` says why.
  // `source` and `got`: who sent a message that was received, and its bytes.
  int (*test)(void* request, int* source, std::size_t* got, int* error);
  // Gives up a receive that no message may have reached.
  void (*cancel)(void* request);
};

}  // extern "C"

inline constexpr std::size_t kMpiErrorText = 511;

// The only symbol of a plug-in.
using FindMpiFunctions = const MpiFunctions* (*)();
inline constexpr const char* kMpiFunctionsSymbol = "graphrun_mpi_functions";

}  // namespace graphrun
