// Layer norms of networks, with a weight and a bias for each column, a SIMD-group a row. Before a
// linear layer only mean and scale of each row are stored: the product standardises the rows on
// their way to threadgroup memory (tiles.h), so that its many tiles need not read whole rows first.
// After a linear layer the rows themselves are stored. Both need
//   dispatch: NAME  threadgroups=(ceil_div(rows, NORMS))  threads=(32 * NORMS)
#pragma once
#include "metalbench/norm.h"
#include "metalbench/tiles.h"

namespace metalbench {

// Quads of a row that a lane keeps: rows of up to 512 columns are read once.
constant constexpr uint kLayerNormKeep = 4;

// The row of a SIMD-group in threadgroup `group` of Norms SIMD-groups.
template <uint Norms>
inline uint norm_row(uint group, uint simdgroup) {
  return group * Norms + simdgroup;
}

// Mean and 1 / sqrt(variance + eps) of a row into `moments`, (rows, 2).
inline void store_row_moments(device const float* x, device float* moments, uint row, uint cols,
                              float eps, threadgroup MomentMemory<1>& memory, uint lane) {
  float4 kept[kLayerNormKeep];
  const Moments found =
      moments_of_row<32, kLayerNormKeep>(row_of(x, row, cols), kept, memory, Place{lane, lane, 0});
  if (lane == 0) {
    ((device float2*)moments)[row] =
        float2(found.mean + found.drift, precise::rsqrt(found.variance + eps));
  }
}

// A row of y = norm(x) weight + bias.
inline void store_norm_row(device const float* x, device const float* weight,
                           device const float* bias, device float* y, uint row, uint cols,
                           float eps, threadgroup MomentMemory<1>& memory, uint lane) {
  const Weighted<float> to = {y + ulong(row) * cols, weight, bias, cols};
  standardise_row_into<32, kLayerNormKeep>(row_of(x, row, cols), to, eps, memory,
                                           Place{lane, lane, 0});
}

// A `Put` (rows.h) that adds to a row what it gets times a weight and plus a bias for each column.
struct AddWeighted {
  static constant constexpr bool kIsWhole = false;
  device float* y;
  device const float* weight;
  device const float* bias;
  uint cols;

  template <bool Full>
  void put(uint column, float4 v) const {
    v = fma(v, load_quad<false, Full>(weight, column, cols),
            load_quad<false, Full>(bias, column, cols));
    store_quad<false, Full>(y, column, cols, load_quad<false, Full>(y, column, cols) + v);
  }
};

// A row of y += norm(x) weight + bias.
inline void add_norm_row(device const float* x, device const float* weight,
                         device const float* bias, device float* y, uint row, uint cols, float eps,
                         threadgroup MomentMemory<1>& memory, uint lane) {
  const AddWeighted to = {y + ulong(row) * cols, weight, bias, cols};
  standardise_row_into<32, kLayerNormKeep>(row_of(x, row, cols), to, eps, memory,
                                           Place{lane, lane, 0});
}

// A source (tile_sources.h): the rows of a matrix, standardised by their `moments`, times the
// weight and plus the bias of each column.
struct StandardRows {
  using element = float;
  struct Line {
    device const float* from;
    float2 moment;
  };
  static constant constexpr bool kAlongDepth = true;
  device const float* data;
  device const float* moments;
  device const float* weight;
  device const float* bias;
  uint rows;
  uint depth;

  INLINED Line line(uint row) const {
    if (row >= rows) {
      return {nullptr, float2(0.0f)};
    }
    return {data + ulong(row) * depth, ((device const float2*)moments)[row]};
  }

  // Weight and bias are zero past the end of a row.
  INLINED float4 quad(thread const Line& row, uint k) const {
    if (!row.from || k >= depth) {
      return float4(0.0f);
    }
    const float4 v = (load_quad(row.from, k, depth) - row.moment.x) * row.moment.y;
    return fma(v, load_quad(weight, k, depth), load_quad(bias, k, depth));
  }
};

}  // namespace metalbench
