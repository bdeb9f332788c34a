#include "tools/report/common_subsequence.h"

#include <algorithm>

namespace graphrun {
namespace {

using Count = std::int32_t;

// The walk uses longest(i, j), the length of the longest common subsequence of a[i..] and b[j..]: a table whose rows are
// computed from last to first. Out of a range of rows, kKept evenly spaced rows are kept. To walk the part between two of them,
// it is computed again in the same way, until all of its rows can be kept. Every row is thus computed log(rows) / log(kKept)
// times.
class SubsequenceWalk {
 public:
  SubsequenceWalk(std::span<const std::int32_t> a, std::span<const std::int32_t> b) : a_(a), b_(b), common_(a.size()) {}

  std::vector<bool> run() {
    walk(0, a_.size(), Row(b_.size() + 1, 0));
    return std::move(common_);
  }

 private:
  static constexpr std::size_t kKept = 32;
  using Row = std::vector<Count>;  // from the current column j_ on

  // Walks from (begin, j_) to row `end`, whose values are `below`, or to the last column.
  void walk(std::size_t begin, std::size_t end, const Row& below) {
    const std::size_t step = (end - begin + kKept - 1) / kKept, first_column = j_;
    if (step == 0) return;
    std::vector<Row> kept((end - begin + step - 1) / step);  // rows begin, begin + step, …
    Row row = below;
    for (std::size_t i = end; i-- > begin;) {
      compute_above(i, first_column, row);
      if ((i - begin) % step == 0) kept[(i - begin) / step] = row;
    }
    for (std::size_t k = 0; k < kept.size() && j_ < b_.size(); ++k) {
      const Row& next = k + 1 < kept.size() ? kept[k + 1] : below;
      if (step == 1) {
        walk_row(begin + k, first_column, kept[k], next);
      } else {
        const auto from = next.begin() + static_cast<std::ptrdiff_t>(j_ - first_column);
        walk(begin + k * step, std::min(end, begin + (k + 1) * step), Row(from, next.end()));
      }
    }
  }

  // Turns row i + 1 into row i.
  void compute_above(std::size_t i, std::size_t first_column, Row& row) const {
    const std::int32_t element = a_[i];
    Count below_right = row.back(), right = 0;
    row.back() = 0;
    for (std::size_t j = b_.size(); j-- > first_column;) {
      Count& here = row[j - first_column];
      const Count below = here;
      here = right = element == b_[j] ? below_right + 1 : std::max(below, right);
      below_right = below;
    }
  }

  // Walks along row i until the next row.
  void walk_row(std::size_t i, std::size_t first_column, const Row& row, const Row& next) {
    for (; j_ < b_.size(); ++j_) {
      if (a_[i] == b_[j_]) {
        common_[i] = true;
        ++j_;
        return;
      }
      if (next[j_ - first_column] >= row[j_ + 1 - first_column]) return;
    }
  }

  const std::span<const std::int32_t> a_, b_;
  std::vector<bool> common_;
  std::size_t j_ = 0;
};

}  // namespace

std::vector<bool> common_subsequence(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  // Common prefixes and suffixes need no table.
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t begin = 0, end = 0;
  while (begin < most && a[begin] == b[begin]) ++begin;
  while (end < most - begin && a[a.size() - 1 - end] == b[b.size() - 1 - end]) ++end;
  const std::vector<bool> inner =
      SubsequenceWalk(a.subspan(begin, a.size() - begin - end), b.subspan(begin, b.size() - begin - end)).run();
  std::vector<bool> common(a.size(), true);
  std::copy(inner.begin(), inner.end(), common.begin() + static_cast<std::ptrdiff_t>(begin));
  return common;
}

}  // namespace graphrun
