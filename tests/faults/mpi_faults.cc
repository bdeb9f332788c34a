// A plug-in for MPI (runtime/communicator/mpi_functions.h) with a fault: passes all calls to the plug-in $MPI_FAULT_PLUGIN, but
// with $MPI_FAULT=hang it never leaves finish(); otherwise it is that of a machine that computes wrong results, and replaces
// the last number in each block of gradients that it receives.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "runtime/communicator/mpi_functions.h"

namespace {

using graphrun::MpiFunctions;

struct Received {
  unsigned char* data;
  std::size_t bytes;
};

std::map<void*, Received>& in_progress() {
  static std::map<void*, Received> all;
  return all;
}

const MpiFunctions& real() {
  static const MpiFunctions* const functions = [] {
    void* const library = dlopen(std::getenv("MPI_FAULT_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<graphrun::FindMpiFunctions>(dlsym(library, graphrun::kMpiFunctionsSymbol))();
  }();
  return *functions;
}

// Other long messages are text: they have no control characters but line breaks and tabs.
bool holds_gradients(const Received& message) {
  return message.bytes >= 256 &&
         std::any_of(message.data, message.data + message.bytes, [](unsigned char byte) { return byte < 8; });
}

void* receive(void* data, std::size_t bytes, int from, int tag, int* error) {
  void* const request = real().receive(data, bytes, from, tag, error);
  if (request != nullptr) in_progress()[request] = {static_cast<unsigned char*>(data), bytes};
  return request;
}

int test(void* request, int* source, std::size_t* got, int* error) {
  const int done = real().test(request, source, got, error);
  if (done == 0) return done;
  if (const auto found = in_progress().find(request); found != in_progress().end()) {
    const Received message{found->second.data, *got};
    constexpr float kWrong = 1;
    if (done > 0 && holds_gradients(message)) std::memcpy(message.data + message.bytes - sizeof kWrong, &kWrong, sizeof kWrong);
    in_progress().erase(found);
  }
  return done;
}

}  // namespace

extern "C" const MpiFunctions* graphrun_mpi_functions() {
  static const MpiFunctions functions = [] {
    MpiFunctions all = real();
    const char* const fault = std::getenv("MPI_FAULT");
    if (fault != nullptr && std::strcmp(fault, "hang") == 0) {
      all.finish = [] {
        while (true) pause();
      };
    } else {
      all.receive = receive, all.test = test;
    }
    return all;
  }();
  return &functions;
}
