// NCCL for emulated devices, whose memory is the host's: processes of one machine exchange arrays through sockets. As with a
// communicator of NCCL's that does not block, calls return while they wait for other processes; ncclCommGetAsyncError moves
// their data. What it says is complete has been done, like the launches of an emulated device. A call before that is an error,
// and so is another stream than the communicator's first. Data of a process that has ended never comes, and nobody is told.
//
// Sums begin with the last rank, unlike those of graphrun. In the environment, NCCL_EMULATION_LOG names a file that gets a line
// for each communicator when it is left; NCCL_EMULATION_KILL=1:9 kills process 1 in its ninth group of calls, and
// NCCL_EMULATION_FAIL=1:9 makes that group fail.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cuda/nccl.h"

namespace graphrun::cuda {

namespace {

constexpr NcclResult kInvalidArgument = 4, kInvalidUsage = 5;

// A part of a call: bytes to or from a peer.
struct Part {
  int peer = 0;
  const char* from = nullptr;  // null: receives
  char* to = nullptr;
  std::size_t left = 0;
};

}  // namespace

struct NcclCommunicator {
  NcclCommunicator(int ranks, const NcclId& id, int own) : n(ranks), me(own), name(id.bytes) {
    peers.assign(static_cast<std::size_t>(n), -1);
    const auto [address, size] = address_of(me);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    works = listener >= 0 && bind(listener, reinterpret_cast<const sockaddr*>(&address), size) == 0 && listen(listener, n) == 0;
  }
  ~NcclCommunicator() {
    for (const int peer : peers) close(peer);
    for (const auto& [stranger, bytes] : strangers) close(stranger);
    close(listener);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  // Of an abstract socket, which leaves no file.
  std::pair<sockaddr_un, socklen_t> address_of(int rank) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string text = name + "-" + std::to_string(rank);
    std::copy(text.begin(), text.end(), address.sun_path + 1);
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size())};
  }

  bool is_joined() const {
    return std::count(peers.begin(), peers.end(), -1) == 1;  // its own place
  }

  // A process calls those of lower ranks, and says who it is.
  void join() {
    for (int rank = 0; rank < me; ++rank) {
      int& peer = peers[static_cast<std::size_t>(rank)];
      if (peer >= 0) continue;
      const auto [address, size] = address_of(rank);
      const int caller = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (connect(caller, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
          write(caller, &me, sizeof me) == sizeof me) {
        peer = caller;
      } else {
        close(caller);  // it does not listen yet
      }
    }
    for (int caller = 0; (caller = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      strangers.emplace_back(caller, 0);
    }
    std::erase_if(strangers, [this](const std::pair<int, int>& one) {
      int rank = 0;
      if (read(one.first, &rank, sizeof rank) != sizeof rank) return false;
      peers[static_cast<std::size_t>(rank)] = one.first;
      return true;
    });
  }

  // Moves what can be moved without waiting, in the order of the parts for each peer and direction.
  void move() {
    for (int peer = 0; peer < n; ++peer) {
      bool sends = true, receives = true;
      for (Part& part : parts) {
        bool& continues = part.from != nullptr ? sends : receives;
        if (part.peer != peer || !continues) continue;
        while (part.left > 0) {
          const int socket = peers[static_cast<std::size_t>(peer)];
          const ssize_t moved = part.from != nullptr ? ::send(socket, part.from, part.left, MSG_DONTWAIT | MSG_NOSIGNAL)
                                                     : recv(socket, part.to, part.left, MSG_DONTWAIT);
          if (moved <= 0) break;
          if (part.from != nullptr) part.from += moved;
          if (part.to != nullptr) part.to += moved;
          part.left -= static_cast<std::size_t>(moved);
        }
        continues = part.left == 0;
      }
    }
  }

  // Whether this is the rank and the group that a variable of the environment names.
  bool is_named_by(const char* variable) const {
    const char* const named = std::getenv(variable);
    return named != nullptr && std::to_string(me) + ":" + std::to_string(groups) == named;
  }

  NcclResult progress() {
    if (!works || is_named_by("NCCL_EMULATION_FAIL")) return kNcclSystemError;
    if (!is_joined()) join();
    if (!is_joined()) return kNcclInProgress;
    move();
    if (std::any_of(parts.begin(), parts.end(), [](const Part& part) { return part.left > 0; })) return kNcclInProgress;
    parts.clear();
    if (after) std::exchange(after, nullptr)();
    return kNcclSuccess;
  }

  // Why a call is refused, or success.
  NcclResult admit(int type, void* stream) {
    if (!parts.empty() || !is_joined()) return kInvalidUsage;
    if (stream == nullptr || (own_stream != nullptr && own_stream != stream) || type != kNcclFloat32) return kInvalidArgument;
    own_stream = stream;
    return kNcclSuccess;
  }

  void leave(const char* how) {
    if (const char* const log = std::getenv("NCCL_EMULATION_LOG")) {
      const std::string line = "rank " + std::to_string(me) + ": " + std::to_string(groups) + " groups, " +
                               std::to_string(gathers) + " gathers, " + std::to_string(sums) + " sums, " + how + "\n";
      const int file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
      if (write(file, line.data(), line.size()) < 0) std::abort();
      close(file);
    }
    delete this;
  }

  const int n, me;
  const std::string name;
  int listener = -1;
  bool works = false;
  std::vector<int> peers;                      // sockets, by rank
  std::vector<std::pair<int, int>> strangers;  // sockets of callers that have not said who they are
  std::vector<Part> parts;
  std::function<void()> after;  // when all parts are done
  void* own_stream = nullptr;
  int groups = 0, gathers = 0, sums = 0;
};

namespace {

struct Group {
  int depth = 0;
  NcclCommunicator* comm = nullptr;
  std::vector<Part> parts;
};
Group& group_of_thread() {
  thread_local Group group;
  return group;
}

NcclResult note(NcclCommunicator* comm, int type, void* stream, const Part& part) {
  Group& group = group_of_thread();
  if (group.depth == 0 || part.peer == comm->me) return kInvalidUsage;
  if (const NcclResult refused = comm->admit(type, stream); refused != kNcclSuccess) return refused;
  group.comm = comm;
  group.parts.push_back(part);
  return kNcclSuccess;
}

}  // namespace

extern "C" {

NcclResult ncclGetVersion(int* version) {
  *version = 22809;
  return kNcclSuccess;
}

NcclResult ncclGetUniqueId(NcclId* id) {
  std::random_device random;
  const std::string text = "graphrun-nccl-" + std::to_string(getpid()) + "-" + std::to_string(random());
  std::copy_n(text.c_str(), text.size() + 1, id->bytes);
  return kNcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  if (config->blocking != 0 || config->size != sizeof *config || config->magic != 0xcafebeef) return kInvalidArgument;
  *comm = new NcclCommunicator(ranks, id, rank);
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  *error = comm->progress();
  return kNcclSuccess;
}

NcclResult ncclCommAbort(NcclComm comm) {
  comm->leave("aborted");
  return kNcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  comm->leave("destroyed");
  return kNcclSuccess;
}

NcclResult ncclGroupStart() {
  ++group_of_thread().depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  Group& group = group_of_thread();
  if (--group.depth > 0 || group.comm == nullptr) return kNcclSuccess;
  NcclCommunicator& comm = *std::exchange(group.comm, nullptr);
  comm.parts = std::exchange(group.parts, {});
  ++comm.groups;
  if (comm.is_named_by("NCCL_EMULATION_KILL")) raise(SIGKILL);
  return kNcclInProgress;
}

NcclResult ncclSend(const void* from, std::size_t count, int type, int peer, NcclComm comm, void* stream) {
  return note(comm, type, stream, {peer, static_cast<const char*>(from), nullptr, count * sizeof(float)});
}

NcclResult ncclRecv(void* to, std::size_t count, int type, int peer, NcclComm comm, void* stream) {
  return note(comm, type, stream, {peer, nullptr, static_cast<char*>(to), count * sizeof(float)});
}

NcclResult ncclAllGather(const void* from, void* to, std::size_t count, int type, NcclComm comm, void* stream) {
  if (const NcclResult refused = comm->admit(type, stream); refused != kNcclSuccess) return refused;
  const std::size_t bytes = count * sizeof(float);
  char* const all = static_cast<char*>(to);
  std::memmove(all + bytes * static_cast<std::size_t>(comm->me), from, bytes);
  for (int peer = 0; peer < comm->n; ++peer) {
    if (peer == comm->me) continue;
    comm->parts.push_back({peer, all + bytes * static_cast<std::size_t>(comm->me), nullptr, bytes});
    comm->parts.push_back({peer, nullptr, all + bytes * static_cast<std::size_t>(peer), bytes});
  }
  ++comm->gathers;
  return kNcclInProgress;
}

NcclResult ncclAllReduce(const void* from, void* to, std::size_t count, int type, int op, NcclComm comm, void* stream) {
  if (const NcclResult refused = comm->admit(type, stream); refused != kNcclSuccess) return refused;
  if (op != kNcclSum) return kInvalidArgument;
  const float* const own = static_cast<const float*>(from);
  auto arrays = std::make_shared<std::vector<std::vector<float>>>(static_cast<std::size_t>(comm->n));
  for (int rank = 0; rank < comm->n; ++rank) {
    std::vector<float>& array = (*arrays)[static_cast<std::size_t>(rank)];
    array.assign(own, own + count);
    if (rank == comm->me) continue;
    comm->parts.push_back({rank, static_cast<const char*>(from), nullptr, count * sizeof(float)});
    comm->parts.push_back({rank, nullptr, reinterpret_cast<char*>(array.data()), count * sizeof(float)});
  }
  comm->after = [arrays, to, count] {
    float* const sum = static_cast<float*>(to);
    for (std::size_t i = 0; i < count; ++i) {
      float x = arrays->back()[i];
      for (std::size_t rank = arrays->size() - 1; rank-- > 0;) x += (*arrays)[rank][i];
      sum[i] = x;
    }
  };
  ++comm->sums;
  return kNcclInProgress;
}

const char* ncclGetErrorString(NcclResult result) {
  constexpr std::array<const char*, 8> kTexts = {"no error",       "unhandled cuda error", "unhandled system error",
                                                 "internal error", "invalid argument",     "invalid usage",
                                                 "remote error",   "in progress"};
  return kTexts.at(static_cast<std::size_t>(result));
}

const char* ncclGetLastError(NcclComm comm) { return comm->is_named_by("NCCL_EMULATION_FAIL") ? "a cable was pulled" : ""; }

}  // extern "C"

}  // namespace graphrun::cuda
