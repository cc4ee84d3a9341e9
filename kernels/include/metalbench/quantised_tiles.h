// Weights of few bits as operands of tiles (tiles.h): they become elements of the tile on their way
// into threadgroup memory, and are multiplied as any others.
#pragma once
#include "metalbench/quantised.h"
#include "metalbench/tiles.h"

namespace metalbench {

// Rows along depth: B of x W^T. In tiles that lie within the matrix a thread loads eight weights
// with one scale, if InEights and if the tile has elements of two bytes. Others are quads.
template <typename Format, typename As, bool InEights = true>
struct QuantisedRows {
  using element = As;
  using Line = uint;
  static constant constexpr bool kAlongDepth = true;
  static constant constexpr bool kHasAdjacent = InEights && sizeof(As) == 2;
  Weights<Format> weights;
  uint rows;

  INLINED Line line(uint row) const { return row; }

  INLINED bool whole(uint first, uint extent, uint step) const {
    return kHasAdjacent && first + extent <= rows && weights.cols % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& row, uint k, uint within) const {
    weights.template quads<Count>(to, row, k + within);
  }

  INLINED Quad<As> quad(thread const Line& row, uint k) const {
    return row < rows && k < weights.cols ? Quad<As>(weights.quad(row, k / 4)) : Quad<As>(As(0));
  }
};

// The matrix as it is: B of x W.
template <typename Format, typename As, bool InEights = true>
struct QuantisedColumns {
  using element = As;
  using Line = uint;
  static constant constexpr bool kAlongDepth = false;
  static constant constexpr bool kHasAdjacent = InEights && sizeof(As) == 2;
  Weights<Format> weights;
  uint depth;

  INLINED Line line(uint column) const { return column; }

  INLINED bool whole(uint first, uint extent, uint step) const {
    return kHasAdjacent && first + extent <= weights.cols && depth % step == 0;
  }
  template <uint Count>
  INLINED void adjacent(thread Quad<As>* to, thread const Line& column, uint k, uint within) const {
    weights.template quads<Count>(to, k + within, column);
  }

  INLINED Quad<As> quad(thread const Line& column, uint k) const {
    return k < depth && column < weights.cols ? Quad<As>(weights.quad(k, column / 4))
                                              : Quad<As>(As(0));
  }
};

// A product whose depth is summed in parts, each by itself: of a long sum every addition rounds
// what is large already, and weights that are exact leave no other error.
template <typename A, typename B, uint TileM, uint TileN, uint TileK>
struct PartedProduct {
  using Tile = Product<FromDepth<A>, FromDepth<B>, TileM, TileN, TileK>;
  static constant constexpr uint kMemory = Tile::kMemory;
  static constant constexpr uint kPart = 256;
  Tile tile;

  PartedProduct(uint2 corner, threadgroup float4* memory, Place place)
      : tile(corner, memory, place) {}

  INLINED void multiply(A a, B b, uint depth) {
    simdgroup_float8x8 totals[Tile::kDown][Tile::kAcross];
    for (uint first = 0; first < depth; first += kPart) {
      tile.multiply({a, first}, {b, first}, min(kPart, depth - first));
      UNROLLED
      for (uint i = 0; i < Tile::kDown; ++i) {
        UNROLLED
        for (uint j = 0; j < Tile::kAcross; ++j) {
          if (first == 0) {
            totals[i][j] = tile.sums[i][j];
          } else {
            totals[i][j].thread_elements() += tile.sums[i][j].thread_elements();
          }
        }
      }
    }
    UNROLLED
    for (uint i = 0; i < Tile::kDown; ++i) {
      UNROLLED
      for (uint j = 0; j < Tile::kAcross; ++j) {
        tile.sums[i][j] = totals[i][j];
      }
    }
  }
};

}  // namespace metalbench
