#include "runtime/communicator/communicator.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "runtime/base/file.h"
#include "runtime/base/process.h"
#include "runtime/base/status.h"
#include "runtime/communicator/mpi_library.h"

namespace graphrun {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr int kLifeTag = 1, kEndTag = 2, kDataTag = 3;         // data: plus the tag of the transfer
constexpr std::size_t kLongestEnd = std::size_t{1} << 16;      // bytes of a message about the end of a process
constexpr std::size_t kLongestMessage = std::size_t{1} << 30;  // bytes; MPI counts them in an int
constexpr Seconds kBetweenHeartbeats{0.25};
constexpr std::uint64_t kHeartbeats = 0;  // the number of all transfers that are heartbeats
// A thread that blocks in MPI keeps a core busy. Polling takes a few percent of a core: pauses grow while nothing arrives.
// There are none while a caller waits, which leaves its core unused, unless nothing has arrived for some milliseconds.
constexpr std::chrono::microseconds kShortestPause{20}, kLongestPause{500};
constexpr std::chrono::milliseconds kWithoutPause{20};
constexpr Seconds kToTellAnEnd{2}, kToArrive{0.3}, kToFinish{3};

// A message about the end of a process consists of this and a text.
struct EndHeader {
  std::int32_t rank = 0, code = 0;
};

// Blocks signals in this thread, and in the threads that the library starts from it: other threads handle them.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct Communicator::Impl {
  struct Pending {
    void* request = nullptr;
    int peer = 0;
    std::uint64_t number = 0;
    bool receives = false;
  };
  struct Begun {
    Transfer transfer;
    int tag = 0;
    std::uint64_t number = 0;
  };
  // What start() began.
  struct Work {
    std::size_t transfers = 0;  // incomplete ones
    std::function<Stage()> then;
  };
  // A receive that is started again whenever it has completed.
  struct Open {
    void* request = nullptr;
    int from = 0, tag = 0;
    std::vector<char> bytes;
  };

  Impl(const Launcher& launcher, double silence) : launcher(launcher), silence(silence) {
    const SignalsBlocked blocked;
    thread = std::thread([this] { work(); });
  }

  ~Impl() {
    if (!thread.joinable()) return;
    leave();
    thread.join();
  }

  void leave() {
    const std::lock_guard lock(mutex);
    leaving = true;
    wanted.notify_one();
  }

  // Only the communication thread calls the functions below.

  void work() {
    communicate();
    const std::lock_guard lock(mutex);
    finished = true;
    changed.notify_all();
  }

  void communicate() {
    std::exception_ptr reason;
    try {
      join();
    } catch (...) {
      reason = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex);
      not_joined = reason;
      joined = true;
    }
    changed.notify_all();
    if (reason || size == 1) {
      if (!reason) mpi->finish();
      return;
    }
    open_receives();
    loop();
    for (Open& open : opened) {
      if (open.request != nullptr) mpi->cancel(open.request);
    }
    for (const Pending& one : pending) {
      if (one.receives) mpi->cancel(one.request);
    }
    if (all_leave()) mpi->finish();  // it waits for the other processes
  }

  // Whether no process is lost, so that all of them leave: at the end of a run, or with an error that all of them know. To
  // MPICH's launcher, the first process that ends before finish() is a crash: it kills the others, and with them their exit
  // code.
  bool all_leave() {
    const std::lock_guard lock(mutex);
    return end == nullptr ? !ended : end->code() != static_cast<int>(ExitCode::kRunFailed);
  }

  void join() {
    mpi = &mpi_functions(launcher);
    if (const int error = mpi->start(); error != 0) {
      std::array<char, kMpiErrorText + 1> text{};
      mpi->error_text(error, text.data());
      throw UserError(ExitCode::kUsage, "E0530 no-mpi", std::string("MPI does not start: ") + text.data());
    }
    rank = mpi->rank();
    size = mpi->size();
    library = mpi->version();
    if (launcher.processes > 1 && size != launcher.processes) {
      const std::string text = launcher.name + " started " + std::to_string(launcher.processes) + " processes, but " + library +
                               " sees " + std::to_string(size);
      mpi->finish();
      throw UserError(
          ExitCode::kUsage, "E0531 foreign-launcher", text,
          {"help: start graphrun with the launcher of " + library + ", or name another plug-in with GRAPHRUN_MPI_LIBRARY"});
    }
    heard.assign(static_cast<std::size_t>(size), Clock::now());
    gone.assign(static_cast<std::size_t>(size), false);
    beats = gone;
  }

  void open_receives() {
    for (int peer = rank == 0 ? 1 : 0; peer < (rank == 0 ? size : 1); ++peer) opened.push_back({nullptr, peer, kLifeTag, {0}});
    opened.push_back({nullptr, rank == 0 ? -1 : 0, kEndTag, std::vector<char>(kLongestEnd)});
    for (Open& open : opened) reopen(open);
  }

  void reopen(Open& open) {
    int error = 0;
    open.request = mpi->receive(open.bytes.data(), open.bytes.size(), open.from, open.tag, &error);
  }

  void loop() {
    Clock::time_point before = Clock::now(), beat = before, last_moved = before;
    std::chrono::microseconds pause = kShortestPause;
    while (true) {
      bool moved = begin_new();
      moved = test_pending() || moved;
      moved = test_opened() || moved;
      const Clock::time_point now = Clock::now();
      // While this process was stopped, it could not receive heartbeats.
      if (now - before > std::chrono::seconds(1)) {
        for (Clock::time_point& h : heard) h += now - before;
      }
      before = now;
      if (now - beat >= kBetweenHeartbeats) {
        beat = now;
        send_heartbeats();
        look_for_missing(now);
      }
      if (moved) last_moved = now;
      std::unique_lock lock(mutex);
      if (leaving && begun.empty() && complete.empty() && (pending.empty() || end != nullptr || ended)) return;
      pause = moved ? kShortestPause : std::min(pause * 3 / 2, kLongestPause);
      if (!begun.empty() || !complete.empty()) continue;
      if (awaited && now - last_moved < kWithoutPause) {
        lock.unlock();
        std::this_thread::yield();
      } else {
        wanted.wait_for(lock, pause);
      }
    }
  }

  // Starts the transfers that callers have requested, and the stages that follow complete ones.
  bool begin_new() {
    std::deque<Begun> taken;
    std::deque<std::uint64_t> follow;
    {
      const std::lock_guard lock(mutex);
      taken.swap(begun);
      follow.swap(complete);
    }
    for (const std::uint64_t number : follow) advance(number);
    for (const auto& [transfer, tag, number] : taken) {
      int error = 0;
      void* const request = transfer.send != nullptr
                                ? mpi->send(transfer.send, transfer.bytes, transfer.peer, tag, &error)
                                : mpi->receive(transfer.receive, transfer.bytes, transfer.peer, tag, &error);
      if (request == nullptr) {
        lose(transfer.peer);
      } else {
        pending.push_back({request, transfer.peer, number, transfer.receive != nullptr});
      }
    }
    return !taken.empty() || !follow.empty();
  }

  // Begins the stage that follows one whose transfers are complete.
  void advance(std::uint64_t number) {
    std::function<Stage()> then;
    {
      const std::lock_guard lock(mutex);
      const auto found = left.find(number);
      if (found->second.then == nullptr) {
        left.erase(found);
        changed.notify_all();
        return;
      }
      then = std::move(found->second.then);
    }
    Stage next;
    try {
      next = then();
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();  // the work remains incomplete, so that wait() reports it
      changed.notify_all();
      return;
    }
    const std::lock_guard lock(mutex);
    enqueue(std::move(next), number);
  }

  bool test_pending() {
    bool moved = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const Pending one = pending[i];
      int source = 0, error = 0;
      std::size_t got = 0;
      const int done = mpi->test(one.request, &source, &got, &error);
      if (done == 0) {
        pending[kept++] = one;
        continue;
      }
      moved = true;
      if (done < 0) {
        lose(one.peer);
        continue;
      }
      if (one.number == kHeartbeats) {
        beats[static_cast<std::size_t>(one.peer)] = false;
        continue;
      }
      const std::lock_guard lock(mutex);
      if (--left.at(one.number).transfers == 0) complete.push_back(one.number);
    }
    pending.resize(kept);
    return moved;
  }

  bool test_opened() {
    bool moved = false;
    for (Open& open : opened) {
      if (open.request == nullptr) continue;
      int source = 0, error = 0;
      std::size_t got = 0;
      const int done = mpi->test(open.request, &source, &got, &error);
      if (done == 0) continue;
      open.request = nullptr;
      if (done < 0) {
        if (open.from >= 0) lose(open.from);
        continue;
      }
      heard[static_cast<std::size_t>(source)] = Clock::now();
      if (open.tag == kEndTag) {
        moved = true;
        hear_of_end(open.bytes, got);
      }
      reopen(open);
    }
    return moved;
  }

  void hear_of_end(const std::vector<char>& bytes, std::size_t got) {
    EndHeader header;
    if (got < sizeof header) return;
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::string text(bytes.data() + sizeof header, got - sizeof header);
    if (rank == 0 && text.empty()) {
      lose(header.rank);  // another process misses it
    } else {
      set_end(header.rank, header.code, text);
    }
  }

  // Between process 0 and each other process.
  void send_heartbeats() {
    static constexpr char kHeartbeat = 1;
    for (int peer = rank == 0 ? 1 : 0; peer < (rank == 0 ? size : 1); ++peer) {
      int error = 0;
      const auto at = static_cast<std::size_t>(peer);
      if (gone[at] || beats[at]) continue;
      void* const request = mpi->send(&kHeartbeat, 1, peer, kLifeTag, &error);
      if (request == nullptr) continue;
      beats[at] = true;
      pending.push_back({request, peer, kHeartbeats});
    }
  }

  void look_for_missing(Clock::time_point now) {
    for (int peer = 0; peer < size; ++peer) {
      if (peer == rank || gone[static_cast<std::size_t>(peer)]) continue;
      const bool listens = rank == 0 || peer == 0;
      if (listens && now - heard[static_cast<std::size_t>(peer)] > Seconds(silence)) lose(peer);
      const long pid = pid_here(peer);
      if (pid > 0 && !state_of_process(pid).runs) lose(peer);  // some launchers wait for their children only at the end
    }
  }

  // The process id of a process on this machine; 0 if it is on another machine, or not known yet.
  long pid_here(int peer) {
    const std::lock_guard lock(mutex);
    const auto at = static_cast<std::size_t>(peer);
    return at < pids.size() && machines[at] == machines[static_cast<std::size_t>(rank)] ? pids[at] : 0;
  }

  void lose(int peer) {
    std::string who;
    {
      const std::lock_guard lock(mutex);
      if (leaving) return;  // all processes are leaving
      who = name(peer);
    }
    if (peer < 0 || gone[static_cast<std::size_t>(peer)]) return;
    gone[static_cast<std::size_t>(peer)] = true;
    if (rank != 0 && peer != 0) {
      tell_of_end(0, {peer, 1}, "");  // process 0 reports it
      return;
    }
    // If process 0 is lost, process 1 reports it.
    const bool reports = rank == 0 || (peer == 0 && rank == 1);
    const Diagnostic problem{
        Severity::kError,
        "E0532 lost-process",
        {},
        who + " is gone",
        {"note: it was killed, or did not answer for " + std::to_string(static_cast<int>(silence)) + " seconds (--silence)",
         "note: the last checkpoint is kept; --resume continues from it"}};
    set_end(peer, static_cast<int>(ExitCode::kRunFailed), reports ? render(problem) : "");
  }

  void set_end(int of, int code, const std::string& text) {
    {
      const std::lock_guard lock(mutex);
      if (end == nullptr) end = std::make_unique<PeerEnd>(of, code, text);
    }
    changed.notify_all();
  }

  // The text is kept until the communicator is destroyed.
  std::uint64_t tell_of_end(int to, const EndHeader& header, const std::string& text) {
    const std::lock_guard lock(mutex);
    std::string& bytes = *told.emplace_back(std::make_unique<std::string>(sizeof header, '\0'));
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes += text.substr(0, kLongestEnd - sizeof header);
    return enqueue({{{to, bytes.data(), nullptr, bytes.size()}}, nullptr}, ++numbers, kEndTag);
  }

  // Both threads call the functions below, with the lock.

  std::uint64_t enqueue(Stage stage, std::uint64_t number, int tag = kDataTag) {
    Work& work = left[number];
    work.then = std::move(stage.then);
    const auto begin_one = [&](const Transfer& transfer) {
      begun.push_back({transfer, tag + transfer.tag, number});
      ++work.transfers;
    };
    for (Transfer rest : stage.transfers) {
      while (rest.bytes > kLongestMessage) {
        Transfer part = rest;
        part.bytes = kLongestMessage;
        begin_one(part);
        if (rest.send != nullptr) rest.send = static_cast<const char*>(rest.send) + kLongestMessage;
        if (rest.receive != nullptr) rest.receive = static_cast<char*>(rest.receive) + kLongestMessage;
        rest.bytes -= kLongestMessage;
      }
      begin_one(rest);
    }
    if (work.transfers == 0) complete.push_back(number);
    wanted.notify_one();
    return number;
  }

  std::string name(int of) const {
    const auto at = static_cast<std::size_t>(of);
    const std::string machine = of == rank ? machine_name() : at < machines.size() ? machines[at] : "";
    return "process " + std::to_string(of) + (machine.empty() ? "" : " on '" + machine + "'");
  }

  const Launcher launcher;
  const double silence;
  const MpiFunctions* mpi = nullptr;
  int rank = 0, size = 1;
  std::string library;
  std::vector<Clock::time_point> heard;  // by rank: when the last message arrived that is not data
  std::vector<bool> gone, beats;         // by rank: lost; a heartbeat to it is in progress
  std::vector<Pending> pending;
  std::vector<Open> opened;

  std::mutex mutex;  // guards the members below
  std::condition_variable changed, wanted;
  bool joined = false, leaving = false, ended = false, finished = false;
  bool awaited = false;  // a caller waits
  std::exception_ptr not_joined, failure;
  std::deque<Begun> begun;
  std::deque<std::uint64_t> complete;  // numbers of work whose transfers are complete
  std::map<std::uint64_t, Work> left;  // incomplete work, by number
  std::uint64_t numbers = 0;
  std::unique_ptr<PeerEnd> end;
  std::vector<std::unique_ptr<std::string>> told;
  std::vector<std::string> machines;
  std::vector<long> pids;
  double waited = 0;
  std::thread thread;  // the last member, because it uses all others
};

Communicator::Communicator(const Launcher& launcher, double silence) : impl_(std::make_unique<Impl>(launcher, silence)) {
  bool joined = false;
  {
    std::unique_lock lock(impl_->mutex);
    joined = impl_->changed.wait_for(lock, Seconds(silence), [&] { return impl_->joined; });
  }
  if (!joined) {
    // The library's start cannot be interrupted, so its thread and what it uses remain until the process ends.
    impl_->thread.detach();
    static_cast<void>(impl_.release());
    throw UserError(
        ExitCode::kRunFailed, "E0532 lost-process",
        "not all processes have started within " + std::to_string(static_cast<int>(silence)) + " seconds (--silence)",
        {"note: one of them was killed, or its machine is slow"});
  }
  if (impl_->not_joined) {
    std::rethrow_exception(impl_->not_joined);
  }
}

void Communicator::introduce() {
  const std::vector<std::string> all = gather(machine_name() + "\n" + std::to_string(getpid()));
  const std::lock_guard lock(impl_->mutex);
  for (const std::string& one : all) {
    const std::size_t end = one.find('\n');
    impl_->machines.push_back(one.substr(0, end));
    impl_->pids.push_back(std::atol(one.c_str() + end + 1));
  }
}

Communicator::~Communicator() {
  try {
    gather("");  // the others may still compute
  } catch (const std::exception&) {
  }
  impl_->leave();
  std::unique_lock lock(impl_->mutex);
  const bool may_hang = impl_->end != nullptr;  // finish() waits for messages that no process will receive
  if (!may_hang || impl_->changed.wait_for(lock, kToFinish, [&] { return impl_->finished; })) return;
  // The library's thread and what it uses remain until the process ends.
  impl_->thread.detach();
  lock.unlock();
  static_cast<void>(impl_.release());
}

int Communicator::rank() const { return impl_->rank; }
int Communicator::size() const { return impl_->size; }
const std::string& Communicator::library() const { return impl_->library; }
const std::string& Communicator::machine(int rank) const { return impl_->machines.at(static_cast<std::size_t>(rank)); }
std::string Communicator::name(int rank) const { return impl_->name(rank); }
double Communicator::seconds_waited() const { return impl_->waited; }

int Communicator::processes_here() const {
  return static_cast<int>(std::count(impl_->machines.begin(), impl_->machines.end(), machine(rank())));
}
int Communicator::place_here() const {
  return static_cast<int>(std::count(impl_->machines.begin(), impl_->machines.begin() + rank(), machine(rank())));
}

std::uint64_t Communicator::start(Stage stage) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->enqueue(std::move(stage), ++impl_->numbers);
}

void Communicator::wait(std::uint64_t number) {
  const Clock::time_point begun = Clock::now();
  std::unique_lock lock(impl_->mutex);
  const auto is_done = [&] { return impl_->left.count(number) == 0; };
  if (!is_done()) {
    impl_->awaited = true;
    impl_->wanted.notify_one();
    impl_->changed.wait(lock, [&] { return is_done() || impl_->end != nullptr || impl_->failure != nullptr; });
    // All processes may find the same error at slightly different times. What they sent before still arrives.
    if (impl_->end != nullptr) impl_->changed.wait_for(lock, kToArrive, is_done);
    impl_->awaited = false;
  }
  impl_->waited += Seconds(Clock::now() - begun).count();
  if (is_done()) return;
  if (impl_->failure != nullptr) std::rethrow_exception(impl_->failure);
  throw PeerEnd(*impl_->end);
}

void Communicator::check() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->end != nullptr) throw PeerEnd(*impl_->end);
}

void Communicator::end_all(int code) {
  std::vector<std::uint64_t> numbers;
  for (int peer = 1; peer < size(); ++peer) {
    numbers.push_back(impl_->tell_of_end(peer, {0, code}, ""));
  }
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait_for(lock, kToTellAnEnd, [&] {
    return std::all_of(numbers.begin(), numbers.end(), [&](std::uint64_t n) { return impl_->left.count(n) == 0; });
  });
  impl_->ended = true;
  if (impl_->end == nullptr) impl_->end = std::make_unique<PeerEnd>(0, code, "");
}

int Communicator::report_failure(int code, const std::string& text) {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->end != nullptr) return impl_->end->code();
  }
  // Process 0 may not know the name of this process yet.
  impl_->tell_of_end(0, {rank(), code}, name(rank()) + ":\n" + text);
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return impl_->end != nullptr; });
  impl_->ended = true;
  return impl_->end->code();
}

}  // namespace graphrun
