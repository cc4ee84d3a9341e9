// Reductions over the columns of a matrix product whose rows are wider than a tile, without the
// product in memory: each SIMD-group joins what it has of a row, half of a tile's columns, to one
// *share*, and a later dispatch joins the shares of a row. What is joined is a state of one float
// or two:
//   State            its type
//   of(v, count)     of the first `count` of four elements; of none it changes nothing
//   join(a, b)       of both together
// Tiles are 16, 32 or 64 columns wide. Needs, with shares_of_row of them,
//   scratch: shares float32 (rows, 2 * ceil_div(cols, BN)), and twice as many for two floats
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/softmax.h"
#include "metalbench/tile_layout.h"

namespace metalbench {

static_assert(kSimdCols == 2, "a SIMD-group has half of a tile's columns");

// Four elements, `beyond` in the place of those from `count` on.
inline float4 first_of(float4 v, uint count, float beyond) {
  return select(float4(beyond), v, uint4(0, 1, 2, 3) < uint4(count));
}

struct RowTotal {
  using State = float;
  static float of(float4 v, uint count) { return total(first_of(v, count, 0.0f)); }
  static float join(float a, float b) { return a + b; }
};

struct RowMax {
  using State = float;
  static float of(float4 v, uint count) { return largest(first_of(v, count, -INFINITY)); }
  static float join(float a, float b) { return max(a, b); }
};

struct RowMin {
  using State = float;
  static float of(float4 v, uint count) { return -largest(first_of(-v, count, -INFINITY)); }
  static float join(float a, float b) { return min(a, b); }
};

// An ExpSum (softmax.h): the largest element, and the sum of exponentials relative to it.
struct RowExpSum {
  using State = float2;
  static float2 of(float4 v, uint count) {
    const ExpSum sum = with_quad(no_exp_sum(), first_of(v, count, -INFINITY));
    return float2(sum.peak, sum.sum);
  }
  static float2 join(float2 a, float2 b) {
    const float peak = max(a.x, b.x);
    return float2(peak, a.y * exp(a.x - peak) + b.y * exp(b.x - peak));
  }
};

inline float log_sum_exp(float2 state) { return precise::log(state.y) + state.x; }

template <uint TileN>
inline uint shares_of_row(uint cols) {
  return (cols + TileN - 1) / TileN * 2;
}

// The state of `Lanes` neighbouring lanes together; all of them have it.
template <typename Join, uint Lanes>
inline typename Join::State join_lanes(typename Join::State state) {
  UNROLLED
  for (ushort step = 1; step < Lanes; step *= 2) {
    state = Join::join(state, simd_shuffle_xor(state, step));
  }
  return state;
}

// Leaves the share of a row, by lanes that have TileN / 8 quads of it.
template <typename Join, uint TileN>
inline void store_share(device float* to, float4 v, uint row, uint column, uint cols,
                        bool has_row) {
  using State = typename Join::State;
  const uint count = min(4u, max(cols, column) - column);
  const State state = join_lanes<Join, TileN / 8>(Join::of(v, count));
  if (has_row && column % (TileN / 2) == 0) {
    ((device State*)to)[ulong(row) * shares_of_row<TileN>(cols) + column / (TileN / 2)] = state;
  }
}

// The epilogue: shares of map(sums). The map is called for whole tiles, also past the matrix' ends.
template <typename Join, uint TileN, typename Map = AsItIs>
struct StoreRowShares {
  device float* to;
  uint rows;
  uint cols;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    store_share<Join, TileN>(to, map(*sums, row, column), row, column, cols, row < rows);
  }
};

// The same for the channels of the pixels of a convolution (window_products.h), whose output's
// pixels are the rows.
template <typename Join, uint TileN, typename Patches, typename Map = AsItIs>
struct StorePixelShares {
  device float* to;
  Patches patches;
  uint cols;
  Map map;

  void operator()(uint row, uint column, threadgroup const float4* sums) const {
    const bool has_row = row < patches.rows();
    const uint pixel = has_row ? patches.output_row(row) : 0;
    store_share<Join, TileN>(to, map(*sums, pixel, column), pixel, column, cols, has_row);
  }
};

// The `count` shares of a row together, by a SIMD-group; all lanes have the result.
template <typename Join>
inline typename Join::State join_row(device const float* shares, uint row, uint count, uint lane) {
  using State = typename Join::State;
  device const State* from = (device const State*)shares + ulong(row) * count;
  State state = Join::of(float4(0.0f), 0);
  for (uint i = lane; i < count; i += 32) {
    state = Join::join(state, from[i]);
  }
  return join_lanes<Join, 32>(state);
}

// The same by one thread, where there are few.
template <typename Join>
inline typename Join::State join_few(device const float* shares, uint row, uint count) {
  using State = typename Join::State;
  device const State* from = (device const State*)shares + ulong(row) * count;
  // check: allow strided-access a thread reads all of its few shares, which share cache lines
  State state = from[0];
  for (uint i = 1; i < count; ++i) {
    // check: allow strided-access as above
    state = Join::join(state, from[i]);
  }
  return state;
}

}  // namespace metalbench
