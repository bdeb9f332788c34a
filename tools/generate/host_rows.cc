#include "tools/generate/host_rows.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/threads/threads.h"

namespace graphrun {
namespace {

// A tensor seen along an axis of rows: `blocks` blocks, each with the rows of that axis, of `unit` bytes.
struct RowBlocks {
  RowBlocks(const Tensor& tensor, std::size_t axis, std::int64_t leading)
      : unit(static_cast<std::int64_t>(size_of(tensor.dtype()))) {
    const Sizes& sizes = tensor.sizes();
    for (std::size_t k = 0; k < axis; ++k) blocks *= k == 0 ? std::min(leading, sizes[0]) : sizes[k];
    for (std::size_t k = axis + 1; k < sizes.size(); ++k) unit *= sizes[k];
  }
  std::int64_t blocks = 1, unit;
};

// For parallel_ranges: the least number of pieces of `bytes` bytes that is worth another thread.
std::int64_t least_pieces(std::int64_t bytes) { return std::max<std::int64_t>(1, 65536 / std::max<std::int64_t>(bytes, 1)); }

}  // namespace

void copy_rows(const Tensor& from, Tensor& to, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading) {
  const RowBlocks all(from, axis, leading);
  const std::int64_t count = static_cast<std::int64_t>(rows.size()), stride = from.sizes()[axis], unit = all.unit;
  const auto* source = static_cast<const char*>(from.raw());
  auto* target = static_cast<char*>(to.raw());
  parallel_ranges(all.blocks * count, least_pieces(unit), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t row = rows[static_cast<std::size_t>(i % count)];
      std::memcpy(target + i * unit, source + (i / count * stride + row) * unit, static_cast<std::size_t>(unit));
    }
  });
}

// A block of the result overlaps blocks of the tensor that come later if there are more rows than before, earlier if there are
// fewer, and itself. So blocks are selected from the last or from the first on, each through a buffer. That can be done for
// some columns of bytes after others, and by threads, since no byte of a row moves to another place in a row.
Tensor select_rows_in_place(Tensor tensor, std::size_t axis, const std::vector<std::int64_t>& rows, std::int64_t leading) {
  constexpr std::int64_t kPiece = 64, kBuffer = 131072;  // bytes: a cache line; what stays in a core's caches
  const RowBlocks all(tensor, axis, leading);
  const std::int64_t count = static_cast<std::int64_t>(rows.size()), stride = tensor.sizes()[axis], unit = all.unit;
  Sizes sizes = tensor.sizes();
  sizes[axis] = count;
  GRAPHRUN_CHECK(count > 0 && tensor.has_room_for(tensor.dtype(), sizes), "select_rows_in_place: no room");
  auto* const first = static_cast<char*>(tensor.raw());
  const std::int64_t pieces = (unit + kPiece - 1) / kPiece, most = std::max<std::int64_t>(1, kBuffer / kPiece / count);
  parallel_ranges(pieces, least_pieces(all.blocks * count * kPiece), [&](std::int64_t begin, std::int64_t end) {
    std::vector<char> block(static_cast<std::size_t>(count * kPiece * std::min(most, end - begin)));
    for (std::int64_t piece = begin; piece < end; piece += most) {
      const std::int64_t at = piece * kPiece, width = std::min(unit, std::min(piece + most, end) * kPiece) - at;
      const auto bytes = static_cast<std::size_t>(width);
      for (std::int64_t k = 0; k < all.blocks; ++k) {
        const std::int64_t b = count > stride ? all.blocks - 1 - k : k;
        const char* const source = first + b * stride * unit + at;
        char* const target = first + b * count * unit + at;
        for (std::int64_t r = 0; r < count; ++r) {
          std::memcpy(block.data() + r * width, source + rows[static_cast<std::size_t>(r)] * unit, bytes);
        }
        for (std::int64_t r = 0; r < count; ++r) std::memcpy(target + r * unit, block.data() + r * width, bytes);
      }
    }
  });
  return Tensor::with_memory_of(tensor, tensor.dtype(), std::move(sizes));
}

RowMoves::RowMoves(const std::vector<std::int64_t>& sources) {
  const auto at = [](std::int64_t row) { return static_cast<std::size_t>(row); };
  std::vector<std::int64_t> readers(sources.size()), free;
  const auto moves = [&](std::int64_t row) { return sources[at(row)] != row; };
  const auto count = static_cast<std::int64_t>(sources.size());
  for (std::int64_t row = 0; row < count; ++row) {
    if (moves(row)) ++readers[at(sources[at(row)])];
  }
  std::vector<bool> done(sources.size());
  const auto move = [&](std::int64_t row) {
    moves_.push_back({row, sources[at(row)]});
    done[at(row)] = true;
    const std::int64_t read = sources[at(row)];
    if (--readers[at(read)] == 0 && moves(read) && !done[at(read)]) free.push_back(read);
  };
  for (std::int64_t row = 0; row < count; ++row) {
    if (moves(row) && readers[at(row)] == 0) free.push_back(row);
  }
  while (!free.empty()) {
    const std::int64_t row = free.back();
    free.pop_back();
    move(row);
  }
  // The others form cycles, in which each is read once: one row of a cycle is saved aside first.
  for (std::int64_t row = 0; row < count; ++row) {
    if (!moves(row) || done[at(row)]) continue;
    moves_.push_back({kAside, row});
    std::int64_t next = row;
    for (; sources[at(next)] != row; next = sources[at(next)]) {
      moves_.push_back({next, sources[at(next)]}), done[at(next)] = true;
    }
    moves_.push_back({next, kAside}), done[at(next)] = true;
  }
}

void RowMoves::apply(Tensor& tensor, std::size_t axis, std::int64_t leading) const {
  const RowBlocks all(tensor, axis, leading);
  const std::int64_t stride = tensor.sizes()[axis], unit = all.unit;
  auto* const first = static_cast<char*>(tensor.raw());
  tensor.mark_written();
  const auto bytes_of_block = unit * static_cast<std::int64_t>(moves_.size());
  parallel_ranges(all.blocks, least_pieces(bytes_of_block), [&](std::int64_t begin, std::int64_t end) {
    std::vector<char> aside(static_cast<std::size_t>(unit));
    for (std::int64_t block = begin; block < end; ++block) {
      const auto row = [&](std::int64_t r) { return r == kAside ? aside.data() : first + (block * stride + r) * unit; };
      for (const Move& m : moves_) std::memcpy(row(m.to), row(m.from), static_cast<std::size_t>(unit));
    }
  });
}

}  // namespace graphrun
