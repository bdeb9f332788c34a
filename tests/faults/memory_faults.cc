// Preloaded into a program (LD_PRELOAD): makes one allocation of its main or its threads fail, as if memory had run out.
// Allocations before main, in the constructors of libraries, do not fail, because the program could not report that yet.
//
//   MEMORY_FAULT=N            the N-th allocation, from 1; 0: none
//   MEMORY_FAULT_OF=TEXT      counts only allocations by a library whose path contains TEXT
//   MEMORY_FAULT_COUNT=FILE   the number of allocations
//   MEMORY_FAULT_STACK=FILE   the call stack of the allocation that failed
//
// fsync does not wait for the disk, so that many runs take little time.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<long> seen{0};
long failing = 0;
const char* of = nullptr;
bool counting = false;
int (*real_main)(int, char**, char**) = nullptr;
thread_local bool inside = false;

bool fails(const void* caller) {
  if (!counting || inside) return false;
  if (of != nullptr) {
    Dl_info library{};
    inside = true;
    const bool counts = dladdr(caller, &library) != 0 && std::strstr(library.dli_fname, of) != nullptr;
    inside = false;
    if (!counts) return false;
  }
  if (++seen != failing) return false;
  inside = true;  // what tells of it allocates too
  if (const char* name = std::getenv("MEMORY_FAULT_STACK")) {
    void* calls[64];
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    backtrace_symbols_fd(calls, backtrace(calls, 64), file);
    close(file);
  }
  inside = false;
  errno = ENOMEM;
  return true;
}

int counted_main(int count, char** words, char** environment) {
  if (const char* number = std::getenv("MEMORY_FAULT")) failing = std::strtol(number, nullptr, 10);
  of = std::getenv("MEMORY_FAULT_OF");
  void* warm[1];
  backtrace(warm, 1);  // it loads a library the first time
  counting = true;
  const int code = real_main(count, words, environment);
  counting = false;
  if (const char* name = std::getenv("MEMORY_FAULT_COUNT")) {
    if (std::FILE* out = std::fopen(name, "w")) std::fprintf(out, "%ld\n", seen.load()), std::fclose(out);
  }
  return code;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return fails(__builtin_return_address(0)) ? nullptr : __libc_malloc(size); }
void* calloc(std::size_t count, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails(__builtin_return_address(0)) ? nullptr : __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  void* const got = memalign(alignment, size);
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}

int fsync(int) { return 0; }

int __libc_start_main(int (*main)(int, char**, char**), int count, char** words, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  real_main = main;
  using Start = int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"))(counted_main, count, words, init, fini, rtld_fini,
                                                                         stack_end);
}

}  // extern "C"
