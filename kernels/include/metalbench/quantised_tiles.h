// Weights of few bits as operands of tiles (tiles.h): they become elements of the tile on their way
// into threadgroup memory, and are multiplied as any others.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/tiles.h"

namespace metalbench {

// Rows along depth: B of x W^T.
template <typename Format, typename As>
struct QuantisedRows {
  using element = As;
  using Line = uint;
  static constant constexpr bool kAlongDepth = true;
  Weights<Format> weights;
  uint rows;

  INLINED Line line(uint row) const { return row; }

  INLINED Quad<As> quad(thread const Line& row, uint k) const {
    return row < rows && k < weights.cols ? Quad<As>(weights.quad(row, k)) : Quad<As>(As(0));
  }
};

// The matrix as it is: B of x W.
template <typename Format, typename As>
struct QuantisedColumns {
  using element = As;
  using Line = uint;
  static constant constexpr bool kAlongDepth = false;
  Weights<Format> weights;
  uint depth;

  INLINED Line line(uint column) const { return column; }

  INLINED Quad<As> quad(thread const Line& column, uint k) const {
    return k < depth && column < weights.cols ? Quad<As>(weights.quad(k, column)) : Quad<As>(As(0));
  }
};

}  // namespace metalbench
