// Implements runtime/communicator/mpi_functions.h. Compiled once against each MPI library that CMake finds.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "runtime/communicator/mpi_functions.h"

namespace graphrun {
namespace {

int start() {
  int provided = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); error != MPI_SUCCESS) return error;
  // The default handler aborts the program, so the lost process could not be reported.
  return MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

void finish() { MPI_Finalize(); }

int rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

// From "Open MPI v4.1.4, package: …" or "MPICH Version:\t4.0.2\nMPICH Release date: …".
const char* version() {
  static const std::string kVersion = [] {
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string name;
    int words = 0;
    for (const char* at = text; *at != '\0' && *at != ',' && *at != '\n'; ++at) {
      if (*at == ' ' || *at == '\t') continue;
      const char* const begin = at;
      while (*at != '\0' && *at != ',' && *at != '\n' && *at != ' ' && *at != '\t') ++at;
      std::string word(begin, at--);
      if (word == "Version:") continue;
      if (word.size() > 1 && word[0] == 'v' && word[1] >= '0' && word[1] <= '9') word.erase(0, 1);
      name += (words++ == 0 ? "" : " ") + word;
    }
    return name;
  }();
  return kVersion.c_str();
}

void error_text(int error, char* text) {
  char whole[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(error, whole, &length);
  std::snprintf(text, kMpiErrorText + 1, "%s", whole);
}

void* begun(MPI_Request request, int result, int* error) {
  *error = result;
  return result == MPI_SUCCESS ? new MPI_Request(request) : nullptr;
}

void* send(const void* data, std::size_t bytes, int to, int tag, int* error) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
  return begun(request, result, error);
}

void* receive(void* data, std::size_t bytes, int from, int tag, int* error) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int source = from < 0 ? MPI_ANY_SOURCE : from;
  const int result = MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, source, tag, MPI_COMM_WORLD, &request);
  return begun(request, result, error);
}

int test(void* handle, int* source, std::size_t* got, int* error) {
  auto* const request = static_cast<MPI_Request*>(handle);
  int done = 0;
  MPI_Status status;
  *error = MPI_Test(request, &done, &status);
  if (*error == MPI_SUCCESS && done == 0) return 0;
  delete request;
  if (*error != MPI_SUCCESS) return -1;
  int count = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  *source = status.MPI_SOURCE;
  *got = static_cast<std::size_t>(std::max(count, 0));
  return 1;
}

void cancel(void* handle) {
  auto* const request = static_cast<MPI_Request*>(handle);
  MPI_Cancel(request);
  MPI_Request_free(request);
  delete request;
}

constexpr MpiFunctions kFunctions = {start, finish, rank, size, version, error_text, send, receive, test, cancel};

}  // namespace
}  // namespace graphrun

extern "C" const graphrun::MpiFunctions* graphrun_mpi_functions() { return &graphrun::kFunctions; }
