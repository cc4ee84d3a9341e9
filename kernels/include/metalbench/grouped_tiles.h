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

// The rows of tile `tile`: experts have separate tiles, one after the other, of Rows rows each
// but the last. There are ceil(rows / Rows) + experts at most; of those that are left count is 0.
template <uint Rows>
struct ExpertRows {
  uint first;
  uint count;
  uint expert;

  static ExpertRows of(device const uint* offsets, uint experts, uint tile) {
    for (uint e = 0; e < experts; ++e) {
      const uint first = offsets[e], count = max(offsets[e + 1], first) - first;
      const uint tiles = (count + Rows - 1) / Rows;
      if (tile < tiles) {
        return {first + tile * Rows, min(Rows, count - tile * Rows), e};
      }
      tile -= tiles;
    }
    return {0, 0, 0};
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
