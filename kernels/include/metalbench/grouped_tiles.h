// Rows that are sorted by expert, each times its expert's matrix (features, inner): every expert
// has separate tiles, the last of which may be short, so that no tile has rows of two.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"

namespace metalbench {

// Where each expert's rows begin, (experts + 1), from what expert each row has: a thread has a row,
// and says it for all experts that it is the first row of, or past.
inline void find_offsets(device const uint* expert, device uint* offsets, uint rows, uint experts,
                         uint row) {
  const uint own = expert[row];
  for (uint e = row ? expert[row - 1] + 1 : 0; e <= own; ++e) {
    offsets[e] = row;
  }
  for (uint e = own + 1; e <= experts && row + 1 == rows; ++e) {
    offsets[e] = rows;
  }
}

// The rows of a tile: experts have separate tiles, one after the other, of Rows rows each but the
// last. Those of expert e begin at offsets[e] / Rows + e: the rows from a to b have at most
// b / Rows - a / Rows + 1 tiles. There are rows / Rows + experts; of those without rows count is 0.
template <uint Rows>
struct ExpertRows {
  uint first;
  uint count;
  uint expert;

  // A SIMD-group finds the last expert whose tiles begin no later: its lanes compare 32 experts,
  // and then 32 between two of these, so that 1024 experts are two loads, one after the other.
  static ExpertRows of(device const uint* offsets, uint experts, uint tile, uint lane) {
    uint expert = 0;
    for (uint count = experts; count > 1;) {
      const uint step = (count + 31) / 32, at = lane * step;
      const bool is_begun = at < count && begin(offsets, expert + at) <= tile;
      const uint passed = (simd_sum(uint(is_begun)) - 1) * step;
      expert += passed;
      count = min(step, count - passed);
    }
    const uint first = offsets[expert], rows = max(offsets[expert + 1], first) - first;
    const uint before = (tile - begin(offsets, expert)) * Rows;
    return {first + before, min(Rows, rows - min(rows, before)), expert};
  }

  static uint begin(device const uint* offsets, uint expert) {
    // check: allow strided-access the first step of a search is one load of a lane
    return offsets[expert] / Rows + expert;
  }
};

// Rows of two matrices as one, four of the first and then four of the second.
template <typename T>
struct PairedRows {
  using element = T;
  using Line = device const T*;
  static constant constexpr bool kAlongDepth = true;
  MatrixRows<T> first;
  MatrixRows<T> second;

  INLINED Line line(uint i) const {
    const uint row = i / 8 * 4 + i % 4;
    return i % 8 < 4 ? first.line(row) : second.line(row);
  }
  INLINED Quad<T> quad(thread const Line& from, uint k) const { return first.quad(from, k); }
};

}  // namespace metalbench
