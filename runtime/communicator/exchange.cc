// Exchanges of bytes between all processes, by transfers.
//
// If a process is lost, wait() throws although transfers are still in progress, and they may read and write until the
// communicator is destroyed. So what they use belongs to their stages, not to the functions that start them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/communicator/communicator.h"

namespace graphrun {
namespace {

// A stage of `transfers` that owns the memory they use.
Stage stage_with(std::vector<Transfer> transfers, std::shared_ptr<const void> memory) {
  return {std::move(transfers), [memory = std::move(memory)] { return Stage(); }};
}

struct Exchanged {
  std::string own;
  std::uint64_t size_of_own = 0;
  std::vector<std::uint64_t> sizes;  // by rank
  std::vector<std::string> all;
};

}  // namespace

std::vector<std::string> Communicator::exchange(std::string_view own, bool only_first) {
  const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  const auto memory = std::make_shared<Exchanged>(
      Exchanged{std::string(own), own.size(), std::vector<std::uint64_t>(n, 0), std::vector<std::string>(n)});
  std::vector<Transfer> of_sizes, of_bytes;
  const auto sends_to = [&](std::size_t p) { return p != me && (p == 0 || !only_first); };
  const auto receives_from = [&](std::size_t p) { return p != me && (me == 0 || !only_first); };
  for (std::size_t p = 0; p < n; ++p) {
    const int peer = static_cast<int>(p);
    if (sends_to(p)) of_sizes.push_back({peer, &memory->size_of_own, nullptr, sizeof memory->size_of_own});
    if (receives_from(p)) of_sizes.push_back({peer, nullptr, &memory->sizes[p], sizeof memory->sizes[p]});
  }
  wait(start(stage_with(std::move(of_sizes), memory)));
  for (std::size_t p = 0; p < n; ++p) {
    const int peer = static_cast<int>(p);
    if (sends_to(p) && !own.empty()) of_bytes.push_back({peer, memory->own.data(), nullptr, own.size()});
    if (memory->sizes[p] == 0) continue;
    memory->all[p].resize(memory->sizes[p]);
    of_bytes.push_back({peer, nullptr, memory->all[p].data(), memory->sizes[p]});
  }
  wait(start(stage_with(std::move(of_bytes), memory)));
  if (me == 0 || !only_first) memory->all[me] = std::move(memory->own);
  return std::move(memory->all);
}

std::vector<std::string> Communicator::gather(std::string_view own) { return exchange(own, false); }
std::vector<std::string> Communicator::collect(std::string_view own) { return exchange(own, true); }

void Communicator::share(const void* own, std::size_t bytes, void* all) {
  const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  const auto memory = std::make_shared<std::vector<char>>(bytes * n);
  const auto part = [&](std::size_t p) { return memory->data() + bytes * p; };
  std::memcpy(part(me), own, bytes);
  std::vector<Transfer> transfers;
  for (std::size_t p = 0; p < n; ++p) {
    if (p == me) continue;
    transfers.push_back({static_cast<int>(p), part(me), nullptr, bytes});
    transfers.push_back({static_cast<int>(p), nullptr, part(p), bytes});
  }
  wait(start(stage_with(std::move(transfers), memory)));
  std::memcpy(all, memory->data(), memory->size());
}

std::string Communicator::broadcast(std::string_view own) {
  struct Passed {
    std::uint64_t bytes;
    std::string text;
  };
  const auto memory = std::make_shared<Passed>(Passed{own.size(), std::string(own)});
  const auto pass = [&](void* data, std::size_t bytes) {
    std::vector<Transfer> transfers;
    if (rank() != 0) transfers.push_back({0, nullptr, data, bytes});
    for (int p = 1; rank() == 0 && p < size(); ++p) transfers.push_back({p, data, nullptr, bytes});
    wait(start(stage_with(std::move(transfers), memory)));
  };
  pass(&memory->bytes, sizeof memory->bytes);
  memory->text.resize(memory->bytes);
  if (memory->bytes > 0) pass(memory->text.data(), memory->bytes);
  return std::move(memory->text);
}

}  // namespace graphrun
