// Preloaded into a program (LD_PRELOAD): the system refuses it threads, as where a container limits their number.
//
//   THREAD_FAULT=N          the N-th thread, from 1, and all later ones; 0: none
//   THREAD_FAULT_OF=TEXT    only threads that are started by code of a library whose path contains TEXT count
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace {

std::atomic<long> seen{0};

bool refused(const void* caller) {
  const char* const from = std::getenv("THREAD_FAULT");
  if (from == nullptr || std::atol(from) == 0) return false;
  if (const char* const of = std::getenv("THREAD_FAULT_OF")) {
    Dl_info library{};
    if (dladdr(caller, &library) == 0 || std::strstr(library.dli_fname, of) == nullptr) return false;
  }
  return ++seen >= std::atol(from);
}

}  // namespace

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  return refused(__builtin_return_address(0)) ? EAGAIN : real(thread, attributes, start, argument);
}
