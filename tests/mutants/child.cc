#include "tests/mutants/child.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "runtime/base/status.h"
#include "tests/sanitized.h"
#include "tools/cli/program.h"

namespace graphrun::mutants {
namespace {

const bool kSanitized = tests::address_sanitized();  // handles signals itself, and needs much address space
constexpr std::size_t kMostSaid = 2000;
constexpr int kMostFrames = 64, kMostToldFrames = 24;

// What a child reports to its parent, in shared memory.
struct Board {
  std::size_t at;  // the current piece
  struct Piece {
    Ended ended;
    std::array<char, 600> text;
  };
  int frames;
  std::array<void*, kMostFrames> calls;
  std::array<Piece, 256> pieces;
};
Board* board = nullptr;

// Records the stack of a signal, which is then raised again and ends the child.
void note_calls(int signal) {
  board->frames = backtrace(board->calls.data(), kMostFrames);
  std::signal(signal, SIG_DFL);
  raise(signal);
}

void handle_signals() {
  if (kSanitized) return;
  // The handler needs its own stack if the normal one has overflowed.
  static std::array<char, 1 << 16> stack;
  stack_t other{};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  struct sigaction action {};
  action.sa_handler = note_calls;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGPROF}) sigaction(signal, &action, nullptr);
}

void set_timer(int which, double seconds) {
  itimerval timer{};
  timer.it_value.tv_sec = static_cast<time_t>(seconds);
  timer.it_value.tv_usec = static_cast<suseconds_t>((seconds - static_cast<double>(timer.it_value.tv_sec)) * 1e6);
  setitimer(which, &timer, nullptr);
}

std::size_t resident_bytes(const rusage& usage) { return static_cast<std::size_t>(usage.ru_maxrss) << 10; }

std::size_t address_space() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void limit(int what, std::size_t most) {
  const rlimit both{most, most};
  setrlimit(static_cast<__rlimit_resource>(what), &both);
}

// "E0203 unknown-name": a letter, four digits, and words.
bool is_code(const std::string& code) {
  return code.size() > 6 && code[0] == 'E' && std::all_of(code.begin() + 1, code.begin() + 5, ::isdigit) && code[5] == ' ' &&
         code.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", 6) == std::string::npos;
}

void put(Board::Piece& piece, Ended ended, const std::string& text) {
  std::snprintf(piece.text.data(), piece.text.size(), "%s", text.c_str());
  piece.ended = ended;
}

void do_piece(Board::Piece& piece, const std::function<void()>& work) {
  try {
    work();
    put(piece, Ended::kAccepted, "");
  } catch (const UserError& error) {
    for (const Diagnostic& d : error.diagnostics())
      if (!is_code(d.code) || d.text.empty())
        return put(piece, Ended::kException, "no code or no text: " + std::string(error.what()));
    if (error.diagnostics().empty()) return put(piece, Ended::kException, "a UserError without a message");
    put(piece, Ended::kRefused, error.diagnostics().front().code);
  } catch (const UsageError& error) {
    put(piece, Ended::kException, std::string("UsageError: ") + error.what());
  } catch (const InternalError& error) {
    put(piece, Ended::kException, std::string("InternalError: ") + error.what());
  } catch (const std::exception& error) {
    put(piece, Ended::kException, std::string("exception: ") + error.what());
  } catch (...) {
    put(piece, Ended::kException, "something that is no exception");
  }
}

// "libgraphrun.so.0(graphrun::f+0x12)"
std::string name_of_call(void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "?";
  const char* const slash = std::strrchr(info.dli_fname, '/');
  std::array<char, 64> offset{};
  std::snprintf(offset.data(), offset.size(), "+0x%zx",
                static_cast<std::size_t>(static_cast<char*>(address) - static_cast<char*>(info.dli_fbase)));
  return std::string(slash ? slash + 1 : info.dli_fname) + offset.data() +
         (info.dli_sname ? std::string(" ") + info.dli_sname : "");
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  return text.substr(0, text.find('\n')).substr(0, 80);
}

}  // namespace

Limits limits_of_this_build() { return kSanitized ? Limits{.seconds = 40, .bytes = std::size_t{6} << 30} : Limits{}; }

Children::Children(Limits limits) : limits_(limits) {
  void* const shared = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  said_ = memfd_create("said", MFD_CLOEXEC);
  if (shared == MAP_FAILED || said_ < 0) throw std::runtime_error("no shared memory");
  board = static_cast<Board*>(shared);
  static_assert(kMostTogether <= std::tuple_size_v<decltype(Board::pieces)>);
  void* call = nullptr;
  backtrace(&call, 1);  // loads the libraries that it needs
}

Children::~Children() {
  munmap(board, sizeof(Board));
  close(said_);
}

void Children::be_child(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work) {
  dup2(said_, STDOUT_FILENO);
  dup2(said_, STDERR_FILENO);
  handle_signals();
  limit(RLIMIT_CORE, 0);
  if (!kSanitized) limit(RLIMIT_AS, address_space() + limits_.bytes);
  for (std::size_t i = first; i < last; ++i) {
    Board::Piece& piece = board->pieces[i - first];
    board->at = i - first;
    board->frames = 0;
    if (ftruncate(said_, 0) != 0 || lseek(said_, 0, SEEK_SET) != 0) _exit(1);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto used = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
    const rlimit processor{static_cast<rlim_t>(used + limits_.seconds + 2), RLIM_INFINITY};  // if the timer's signal is ignored
    setrlimit(RLIMIT_CPU, &processor);
    set_timer(ITIMER_PROF, limits_.seconds);
    set_timer(ITIMER_REAL, 150 * limits_.seconds);  // for a child that waits forever, not for a busy machine
    do_piece(piece, [&] { work(i); });
    set_timer(ITIMER_PROF, 0);
    std::fflush(stdout);
    getrusage(RUSAGE_SELF, &usage);
    if (resident_bytes(usage) > limits_.bytes) {
      put(piece, Ended::kMemory, "its memory is " + std::to_string(resident_bytes(usage) >> 20) + " MiB");
      break;
    }
  }
  _exit(0);
}

std::size_t Children::run_some(std::size_t first, std::size_t last, const std::function<void(std::size_t)>& work,
                               std::vector<Outcome>& outcomes) {
  last = std::min(last, first + kMostTogether);
  for (Board::Piece& piece : board->pieces) piece.ended = Ended::kNot;
  board->at = 0;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child == 0) be_child(first, last, work);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  std::size_t i = first;
  for (; i < last && board->pieces[i - first].ended != Ended::kNot; ++i) {
    const Board::Piece& piece = board->pieces[i - first];
    outcomes[i] = {piece.ended, piece.text.data(), "", i - first};
    if (outcomes[i].is_find()) outcomes[i].where = without_digits(outcomes[i].text);
    if (piece.ended == Ended::kMemory) return i + 1;
  }
  if (i == last && WIFEXITED(status)) return last;
  // The current piece ended its child. If a child ends after its last piece, that piece is blamed.
  i = std::min(i, last - 1);
  Outcome& outcome = outcomes[i];
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const bool time = signal == SIGPROF || signal == SIGXCPU || signal == SIGALRM;
  outcome.before = i - first;
  outcome.ended = time ? Ended::kTime : Ended::kSignal;
  outcome.text = signal == 0 ? "exit " + std::to_string(WEXITSTATUS(status)) : std::string("signal: ") + strsignal(signal);
  outcome.where = outcome.text;
  std::string said(kMostSaid, '\0');
  said.resize(static_cast<std::size_t>(std::max<ssize_t>(0, pread(said_, said.data(), said.size(), 0))));
  for (int frame = 0; frame < std::min(board->frames, kMostToldFrames); ++frame) {
    const std::string call = name_of_call(board->calls[static_cast<std::size_t>(frame)]);
    const bool own = call.find("graphrun") != std::string::npos || call.starts_with("mutants");
    if (own && frame > 1 && !time && std::count(outcome.where.begin(), outcome.where.end(), '\n') < 2)
      outcome.where += "\n" + call;
    outcome.text += "\n  " + call;
  }
  outcome.text += "\n" + said;
  return i + 1;
}

std::vector<Outcome> Children::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<Outcome> outcomes(count);
  for (std::size_t first = 0; first < count;) first = run_some(first, count, work, outcomes);
  return outcomes;
}

Outcome Children::run_one(const std::function<void()>& work) {
  return run(1, [&](std::size_t) { work(); }).front();
}

}  // namespace graphrun::mutants
