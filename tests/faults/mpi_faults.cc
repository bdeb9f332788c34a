// A plug-in for MPI (runtime/communicator/mpi_functions.h) that passes all calls to the plug-in $MPI_FAULT_PLUGIN, with the
// fault $MPI_FAULT:
//   wrong  as on a machine that computes wrong results, the last number in each block of gradients that it receives is replaced
//   late   receives write to their memory until they are complete, so that AddressSanitizer reports memory that was freed
//   before hang   finish() does not return
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

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

// A test of one message moves the others on too.
int test_late(void* request, int* source, std::size_t* got, int* error) {
  // Called through a variable: the compiler would drop or inline the copies, and AddressSanitizer sees only calls of this
  // library.
  static void* (*volatile copy)(void*, const void*, std::size_t) = std::memcpy;
  constexpr std::size_t kMost = 64;
  unsigned char kept[kMost];
  for (const auto& [of, message] : in_progress()) {
    const std::size_t bytes = std::min(message.bytes, kMost);
    copy(kept, message.data, bytes);
    copy(message.data, kept, bytes);
  }
  const int done = real().test(request, source, got, error);
  if (done != 0) in_progress().erase(request);
  return done;
}

int test_wrong(void* request, int* source, std::size_t* got, int* error) {
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

void cancel(void* request) {
  in_progress().erase(request);
  real().cancel(request);
}

[[noreturn]] void hang() {
  while (true) pause();
}

}  // namespace

extern "C" const MpiFunctions* graphrun_mpi_functions() {
  static const MpiFunctions functions = [] {
    MpiFunctions all = real();
    const std::string_view fault = std::getenv("MPI_FAULT");
    if (fault == "hang") {
      all.finish = hang;
    } else {
      all.receive = receive, all.test = fault == "late" ? test_late : test_wrong, all.cancel = cancel;
    }
    return all;
  }();
  return &functions;
}
