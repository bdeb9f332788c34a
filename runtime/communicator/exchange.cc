// Exchanges of bytes between all processes, by transfers.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/communicator/communicator.h"

namespace graphrun {

std::vector<std::string> Communicator::exchange(std::string_view own, bool only_first) {
  const auto n = static_cast<std::size_t>(size()), me = static_cast<std::size_t>(rank());
  std::vector<std::string> all(n);
  std::vector<std::uint64_t> sizes(n, 0);
  const std::uint64_t size_of_own = own.size();
  std::vector<Transfer> of_sizes, of_bytes;
  const auto sends_to = [&](std::size_t p) { return p != me && (p == 0 || !only_first); };
  const auto receives_from = [&](std::size_t p) { return p != me && (me == 0 || !only_first); };
  for (std::size_t p = 0; p < n; ++p) {
    if (sends_to(p)) of_sizes.push_back({static_cast<int>(p), &size_of_own, nullptr, sizeof size_of_own});
    if (receives_from(p)) of_sizes.push_back({static_cast<int>(p), nullptr, &sizes[p], sizeof sizes[p]});
  }
  wait(start({std::move(of_sizes), nullptr}));
  for (std::size_t p = 0; p < n; ++p) {
    if (sends_to(p) && !own.empty()) of_bytes.push_back({static_cast<int>(p), own.data(), nullptr, own.size()});
    if (sizes[p] == 0) continue;
    all[p].resize(sizes[p]);
    of_bytes.push_back({static_cast<int>(p), nullptr, all[p].data(), sizes[p]});
  }
  wait(start({std::move(of_bytes), nullptr}));
  if (me == 0 || !only_first) all[me] = own;
  return all;
}

std::vector<std::string> Communicator::gather(std::string_view own) { return exchange(own, false); }
std::vector<std::string> Communicator::collect(std::string_view own) { return exchange(own, true); }

void Communicator::share(const void* own, std::size_t bytes, void* all) {
  char* const into = static_cast<char*>(all);
  std::vector<Transfer> transfers;
  for (int p = 0; p < size(); ++p) {
    if (p == rank()) continue;
    transfers.push_back({p, own, nullptr, bytes});
    transfers.push_back({p, nullptr, into + bytes * static_cast<std::size_t>(p), bytes});
  }
  const std::uint64_t number = start({std::move(transfers), nullptr});
  std::memcpy(into + bytes * static_cast<std::size_t>(rank()), own, bytes);
  wait(number);
}

std::string Communicator::broadcast(std::string_view own) {
  std::uint64_t bytes = own.size();
  std::string text(own);
  const auto pass = [&](void* data, std::size_t size) {
    std::vector<Transfer> transfers;
    if (rank() != 0) transfers.push_back({0, nullptr, data, size});
    for (int p = 1; rank() == 0 && p < this->size(); ++p) transfers.push_back({p, data, nullptr, size});
    wait(start({std::move(transfers), nullptr}));
  };
  pass(&bytes, sizeof bytes);
  text.resize(bytes);
  if (bytes > 0) pass(text.data(), bytes);
  return text;
}

}  // namespace graphrun
