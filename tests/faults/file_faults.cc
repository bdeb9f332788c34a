// Preloaded into a program (LD_PRELOAD): makes its file operations fail, without changes to the program.
//
//   FILE_FAULT=kill:TEXT:N     SIGKILL at the N-th operation (from 1) on a path that contains TEXT; a write is half done
//   FILE_FAULT=kill:TEXT:N+U   SIGKILL U microseconds after that operation
//   FILE_FAULT=int:TEXT:N      SIGINT at that operation, which completes; term: SIGTERM; both: both; +U as above
//   FILE_FAULT=full:TEXT:N     from that operation on, writes to such paths fail as on a full disk; the first is half done
//   FILE_FAULT=move:TEXT:N     before that operation the folder $FILE_FAULT_FOLDER gets the name $FILE_FAULT_FOLDER.moved
//   FILE_FAULT=empty:TEXT:N    before that operation its contents are removed; remove: the folder too
//   FILE_FAULT_LOG=FILE        a line for each operation: microseconds of a monotonic clock, operation, path
//
// Operations are those that change files: write, fsync, ftruncate, rename, unlink, mkdir, open with O_CREAT.
//
//   FILE_FAULT=OP=ERROR:TEXT:N  the N-th call of OP on an absolute path that contains TEXT fails, once
//   FILE_FAULT=count:TEXT:1     nothing fails
//   FILE_FAULT_COUNT=FILE       a line for each OP, "OP PLACE PLACE …": for each of its calls, a number for the call stack and
//                               the path without digits; equal places have equal numbers
//   FILE_FAULT_STACK=FILE       the call stack of the operation that failed
//
// With these two, fsync does not wait for the disk, so that many runs take little time.
//
//   FILE_FAULT_FLOCK=ENOSYS     the file system has no flock
//
// OP is open (a folder too), read, write, fsync, rename, remove (a folder too) or mmap (of a file). ERROR is EIO, EINTR,
// ENOSPC, ENOMEM, or short: half of the bytes are read or written.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace {

enum class Deed { kContinue, kKill, kFull };

constexpr std::array kCalls = {"open", "read", "write", "fsync", "rename", "remove", "mmap"};
constexpr int kShort = -1;  // in the place of an error

struct Fault {
  Deed deed = Deed::kContinue;
  int signal = 0;  // of kKill: SIGKILL, or one that the program may handle
  int second = 0;  // sent after it; 0: none
  std::string text;
  long number = 0, delay = 0, seen = 0;
  int log = -1;
  std::string call;    // that fails once; empty: none
  int error = 0;       // with which
  std::string folder;  // command at the operation: what becomes of a folder
  bool syncs = true;
  std::array<long, kCalls.size()> calls{};
  bool counts = std::getenv("FILE_FAULT_COUNT") != nullptr;
  std::array<std::vector<std::size_t>, kCalls.size()> places;  // by call, where it counts
};

int error_of(const std::string& name) {
  if (name == "short") return kShort;
  return name == "EINTR" ? EINTR : name == "ENOSPC" ? ENOSPC : name == "ENOMEM" ? ENOMEM : EIO;
}

// The shell's command for it, on $FILE_FAULT_FOLDER.
std::string done_to_folder(const std::string& kind) {
  if (kind == "move") return "mv \"$FILE_FAULT_FOLDER\" \"$FILE_FAULT_FOLDER.moved\"";
  if (kind == "remove") return "rm -r \"$FILE_FAULT_FOLDER\"";
  return kind == "empty" ? "rm -r \"$FILE_FAULT_FOLDER\"/*" : "";
}

Fault read_fault() {
  Fault fault;
  if (const char* given = std::getenv("FILE_FAULT")) {
    const std::string all = given;
    const std::size_t first = all.find(':'), last = all.rfind(':');
    const std::string kind = all.substr(0, first);
    const std::size_t equals = kind.find('=');
    if (equals != std::string::npos) fault.call = kind.substr(0, equals), fault.error = error_of(kind.substr(equals + 1));
    fault.folder = done_to_folder(kind);
    fault.syncs = fault.call.empty() && kind != "count";
    const bool kills = fault.call.empty() && kind != "count";
    fault.deed = !kills ? Deed::kContinue : kind == "full" ? Deed::kFull : Deed::kKill;
    fault.signal = kind == "int" ? SIGINT : kind == "term" || kind == "both" ? SIGTERM : SIGKILL;
    fault.second = kind == "both" ? SIGINT : 0;
    fault.text = all.substr(first + 1, last - first - 1);
    char* rest = nullptr;
    fault.number = std::strtol(all.c_str() + last + 1, &rest, 10);
    if (*rest == '+') fault.delay = std::strtol(rest + 1, nullptr, 10);
  }
  if (const char* log = std::getenv("FILE_FAULT_LOG")) {
    fault.log = static_cast<int>(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  }
  return fault;
}

template <class Fn>
Fn* real(const char* name) {
  return reinterpret_cast<Fn*>(dlsym(RTLD_NEXT, name));
}

void signal_after(long microseconds, int signal) {
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = signal;
  timer_t timer{};
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  itimerspec at{};
  at.it_value = {microseconds / 1000000, microseconds % 1000000 * 1000 + 1};
  timer_settime(timer, 0, &at, nullptr);
}

// Sends a signal to the process and waits until a thread has taken it. Where all threads block the signal and one waits for it,
// that one may be scheduled much later; without the wait, the operation's thread could finish the program's work before.
void send_and_wait(int signal) {
  kill(getpid(), signal);
  const timespec millisecond{0, 1000000};
  sigset_t pending;
  for (int waited = 0; waited < 10000 && sigpending(&pending) == 0 && sigismember(&pending, signal) == 1; ++waited) {
    nanosleep(&millisecond, nullptr);
  }
  const timespec to_record{0, 20000000};  // for what the thread does with it
  nanosleep(&to_record, nullptr);
}

Fault& the_fault() {
  static Fault fault = read_fault();
  return fault;
}

std::mutex& the_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::string path_of(int file) {
  char link[64], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof path);
  return {path, static_cast<std::size_t>(size > 0 ? size : 0)};
}

std::string absolute(const char* path, int in = AT_FDCWD) {
  if (path[0] == '/') return path;
  char here[4096];
  if (in == AT_FDCWD) return std::string(getcwd(here, sizeof here) != nullptr ? here : "") + "/" + path;
  return path_of(in) + "/" + path;
}

// Where a call on a path is made.
std::size_t place_of(const std::string& path) {
  std::string text;
  for (const char c : path)
    if (c < '0' || c > '9') text += c;
  void* calls[64];
  const auto count = static_cast<std::size_t>(backtrace(calls, 64));
  text.append(reinterpret_cast<const char*>(calls), count * sizeof(void*));
  return std::hash<std::string>()(text);
}

// How a call is to fail: 0 where it is not. Calls on standard streams, pipes and sockets are left alone.
int failure_of(const char* call, const std::string& path) {
  Fault& fault = the_fault();
  if (!path.starts_with('/') || path.find(fault.text) == std::string::npos) return 0;
  const std::lock_guard lock(the_mutex());
  const auto which = std::find_if(kCalls.begin(), kCalls.end(), [&](const char* c) { return std::strcmp(c, call) == 0; });
  const long number = ++fault.calls[static_cast<std::size_t>(which - kCalls.begin())];
  if (fault.counts) fault.places[static_cast<std::size_t>(which - kCalls.begin())].push_back(place_of(path));
  if (fault.call != call || number != fault.number) return 0;
  if (const char* const name = std::getenv("FILE_FAULT_STACK")) {
    void* calls[64];
    const int file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    backtrace_symbols_fd(calls, backtrace(calls, 64), file);
    syscall(SYS_close, file);
  }
  return fault.error;
}

__attribute__((destructor)) void write_counts() {
  const char* const name = std::getenv("FILE_FAULT_COUNT");
  std::FILE* const out = name != nullptr ? std::fopen(name, "w") : nullptr;
  if (out == nullptr) return;
  for (std::size_t i = 0; i < kCalls.size(); ++i) {
    std::fputs(kCalls[i], out);
    for (const std::size_t place : the_fault().places[i]) std::fprintf(out, " %zu", place);
    std::fputc('\n', out);
  }
  std::fclose(out);
}

// What becomes of an operation on this path.
Deed deed_at(const char* operation, const char* path) {
  Fault& fault = the_fault();
  const std::lock_guard lock(the_mutex());
  if (fault.log >= 0) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    char line[1024];
    const int size =
        std::snprintf(line, sizeof line, "%ld %s %s\n", now.tv_sec * 1000000 + now.tv_nsec / 1000, operation, path);
    syscall(SYS_write, fault.log, line, std::min<std::size_t>(sizeof line - 1, static_cast<std::size_t>(size)));
  }
  if (fault.deed == Deed::kContinue || std::strstr(path, fault.text.c_str()) == nullptr) return Deed::kContinue;
  ++fault.seen;
  if (fault.deed == Deed::kFull) return fault.seen >= fault.number ? Deed::kFull : Deed::kContinue;
  if (fault.seen != fault.number) return Deed::kContinue;
  if (!fault.folder.empty()) {
    for (const char* name : {"FILE_FAULT", "FILE_FAULT_LOG", "LD_PRELOAD"}) unsetenv(name);
    if (std::system(fault.folder.c_str()) != 0) std::abort();
    return Deed::kContinue;
  }
  if (fault.delay > 0) {
    signal_after(fault.delay, fault.signal);
    if (fault.second != 0) signal_after(fault.delay, fault.second);
    return Deed::kContinue;
  }
  if (fault.signal == SIGKILL) return Deed::kKill;
  send_and_wait(fault.signal);
  if (fault.second != 0) send_and_wait(fault.second);
  return Deed::kContinue;
}

Deed deed_at(const char* operation, int file) {
  const std::string path = path_of(file);
  return path.starts_with('/') ? deed_at(operation, path.c_str()) : Deed::kContinue;  // no pipes, no sockets
}

[[noreturn]] void die() {
  raise(SIGKILL);
  std::abort();
}

// The operation with its fault: killed before it, refused, or done.
template <class Place, class Do>
int with_fault(const char* operation, Place place, const Do& act, bool takes_room = false) {
  switch (deed_at(operation, place)) {
    case Deed::kKill: die();
    case Deed::kFull:
      if (!takes_room) break;
      errno = ENOSPC;
      return -1;
    case Deed::kContinue: break;
  }
  return act();
}

// -1 with errno where a call is to fail before anything is done.
bool refused(const char* call, const std::string& path) {
  const int error = failure_of(call, path);
  if (error > 0) errno = error;
  return error > 0;
}

int open_file(const char* name, const char* path, int flags, mode_t mode) {
  if (refused("open", absolute(path))) return -1;
  const auto act = [&] { return real<int(const char*, int, mode_t)>(name)(path, flags, mode); };
  return (flags & O_CREAT) != 0 ? with_fault("open", path, act, true) : act();
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* data, std::size_t size) {
  static auto* const act = real<ssize_t(int, const void*, std::size_t)>("write");
  static bool failed = false;  // a full disk takes half of the first write and nothing after it
  if (file <= STDERR_FILENO) return act(file, data, size);
  const int error = failure_of("write", path_of(file));
  if (error > 0) return errno = error, -1;
  if (error == kShort && size > 1) return act(file, data, size / 2);
  const Deed deed = deed_at("write", file);
  if (deed == Deed::kContinue) return act(file, data, size);
  if (deed == Deed::kFull && (failed || size < 2)) return errno = ENOSPC, -1;
  failed = true;
  const ssize_t half = act(file, data, size / 2);
  if (deed == Deed::kKill) die();
  return half;
}

ssize_t read(int file, void* data, std::size_t size) {
  static auto* const act = real<ssize_t(int, void*, std::size_t)>("read");
  if (file <= STDERR_FILENO) return act(file, data, size);
  const int error = failure_of("read", path_of(file));
  if (error > 0) return errno = error, -1;
  return act(file, data, error == kShort && size > 1 ? size / 2 : size);
}

void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  static auto* const act = real<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  // AddressSanitizer maps memory before there is an environment to read the fault from.
  if ((flags & MAP_ANONYMOUS) == 0 && refused("mmap", path_of(file))) return MAP_FAILED;
  return act(at, size, protection, flags, file, offset);
}

int fsync(int file) {
  if (refused("fsync", path_of(file))) return -1;
  return with_fault("fsync", file, [&] { return the_fault().syncs ? real<int(int)>("fsync")(file) : 0; });
}
int flock(int file, int operation) noexcept {
  if (std::getenv("FILE_FAULT_FLOCK") != nullptr) return errno = ENOSYS, -1;
  return real<int(int, int)>("flock")(file, operation);
}
int ftruncate(int file, off_t size) noexcept {
  return with_fault("ftruncate", file, [&] { return real<int(int, off_t)>("ftruncate")(file, size); });
}
int rename(const char* from, const char* to) noexcept {
  if (refused("rename", absolute(to))) return -1;
  return with_fault("rename", to, [&] { return real<int(const char*, const char*)>("rename")(from, to); });
}
int renameat2(int in, const char* from, int to_in, const char* to, unsigned flags) noexcept {
  if (refused("rename", absolute(to))) return -1;
  return with_fault("rename", to, [&] {
    return real<int(int, const char*, int, const char*, unsigned)>("renameat2")(in, from, to_in, to, flags);
  });
}
int remove(const char* path) noexcept {
  if (refused("remove", absolute(path))) return -1;
  return with_fault("remove", path, [&] { return real<int(const char*)>("remove")(path); });
}
int unlink(const char* path) noexcept {
  if (refused("remove", absolute(path))) return -1;
  return with_fault("remove", path, [&] { return real<int(const char*)>("unlink")(path); });
}
// Paths are those of the folder that is emptied.
int unlinkat(int in, const char* path, int flags) noexcept {
  if (refused("remove", absolute(path, in))) return -1;
  const auto act = [&] { return real<int(int, const char*, int)>("unlinkat")(in, path, flags); };
  return in == AT_FDCWD ? with_fault("remove", path, act) : with_fault("remove", in, act);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return with_fault(
      "mkdir", path, [&] { return real<int(const char*, mode_t)>("mkdir")(path, mode); }, true);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_file("open", path, flags, mode);
}
int openat(int in, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  if (refused("open", absolute(path, in))) return -1;
  return real<int(int, const char*, int, mode_t)>("openat")(in, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return open_file("open64", path, flags, mode);
}

}  // extern "C"
