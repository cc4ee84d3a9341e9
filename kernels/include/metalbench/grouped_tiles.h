// Rows that are sorted by expert, each times its expert's matrix (features, inner): a tile of rows
// is multiplied once for every expert that has rows in it, which mostly is one. Rows of the next
// expert are past the end for the product, so that they cost nothing and nothing is stored there.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/tiles.h"

namespace metalbench {

// The rows of one tile that follow each other with the same expert.
struct ExpertRows {
  uint first;
  uint count;
  uint expert;

  static ExpertRows at(device const uint* expert, uint first, uint end) {
    ExpertRows rows = {first, 1, expert[first]};
    while (first + rows.count < end && expert[first + rows.count] == rows.expert) {
      ++rows.count;
    }
    return rows;
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
