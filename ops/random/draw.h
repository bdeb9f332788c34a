// The draws of dropout: which elements of a row stay.
#pragma once

#include <cstdint>

namespace graphrun {

// What a row's draws hang on. Feature f of the row takes word f % 4 of philox(key, row's low half, its high half, f / 4, step):
// a pure function, so threads, padding and the order of work change nothing.
struct DrawRow {
  std::uint64_t key = 0;        // seed and name of the node
  std::uint64_t row = 0;        // the coordinates of the row, folded: steps of the scans around it, then its leading axes
  std::uint32_t step = 0;       // of training
  std::uint32_t threshold = 0;  // a feature stays where its upper 24 bits are not below
};

// y[i] = x[i] * scale where feature i stays, else 0; with x null, scale in x's place. y may be x.
void drop_row(const DrawRow& draw, const float* x, float* y, std::int64_t features, double scale);
void drop_row(const DrawRow& draw, const double* x, double* y, std::int64_t features, double scale);

}  // namespace graphrun
