// NetVLAD (Arandjelovic and others, arXiv 1511.07247): descriptors x (batch, count, dims) are
// assigned to clusters in shares, softmax of batch norm of scores, and what they differ from the
// centres of the clusters by is summed. A set of descriptors is a threadgroup's: lane l has
// clusters l + 32 i (state_rows.h), up to 256 with those that are dropped.
#pragma once
#include "metalbench/epilogues.h"
#include "metalbench/reduce.h"
#include "metalbench/state_rows.h"
#include "metalbench/tiles.h"

namespace metalbench {

template <uint SimdGroups>
struct ClusterMemory {
  LaneColumns lanes[SimdGroups][32];
};

// The sum over SIMD-groups of what a lane has.
template <uint SimdGroups>
INLINED LaneColumns sum_of_groups(LaneColumns own, threadgroup ClusterMemory<SimdGroups>& memory,
                                  Place place) {
  memory.lanes[place.simdgroup][place.lane] = own;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  LaneColumns sum = memory.lanes[0][place.lane];
  for (uint group = 1; group < SimdGroups; ++group) {
    UNROLLED
    for (uint i = 0; i < LaneColumns::kMost; ++i) {
      sum.at[i] += memory.lanes[group][place.lane].at[i];
    }
  }
  return sum;
}

// Scores (rows, clusters), and the batch norm over their rows: mean and 1 / deviation of each
// cluster (pixel_norm.h), weight and bias.
struct ClusterScores {
  device const float* scores;
  device const float* moments;
  device const float* weight;
  device const float* bias;
  uint clusters;

  // The shares of a descriptor.
  INLINED LaneColumns shares(uint row, uint lane) const {
    LaneColumns v = LaneColumns::of(scores + ulong(row) * clusters, clusters, lane);
    float peak = -INFINITY;
    UNROLLED
    for (uint i = 0; i < LaneColumns::kMost; ++i) {
      const uint k = lane + 32 * i;
      if (32 * i < clusters) {
        if (k < clusters) {
          const float2 moment = ((device const float2*)moments)[k];
          v.at[i] = fma((v.at[i] - moment.x) * moment.y, weight[k], bias[k]);
        } else {
          v.at[i] = -INFINITY;
        }
        peak = max(peak, v.at[i]);
      }
    }
    peak = simd_max(peak);
    float sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < LaneColumns::kMost; ++i) {
      if (32 * i < clusters) {
        v.at[i] = precise::exp(v.at[i] - peak);
        sum += v.at[i];
      }
    }
    v.scale(1.0f / simd_sum(sum), clusters);
    return v;
  }
};

// Of set number `set` of `count` descriptors: the shares of the first `kept` clusters (rows, kept),
// and their totals (sets, kept).
template <uint SimdGroups>
INLINED void store_shares(ClusterScores scores, device float* shares, device float* totals,
                          uint set, uint count, uint kept,
                          threadgroup ClusterMemory<SimdGroups>& memory, Place place) {
  LaneColumns sum = {};
  for (uint i = place.simdgroup; i < count; i += SimdGroups) {
    const uint row = set * count + i;
    const LaneColumns own = scores.shares(row, place.lane);
    own.store(shares + ulong(row) * kept, kept, place.lane);
    sum.add(1.0f, own, kept);
  }
  const LaneColumns all = sum_of_groups<SimdGroups>(sum, memory, place);
  if (place.simdgroup == 0) {
    all.store(totals + ulong(set) * kept, kept, place.lane);
  }
}

// A map (epilogues.h): less the total of a cluster's shares times its centre (dims, kept).
struct WithoutCentres {
  device const float* totals;
  device const float* centres;
  uint kept;
  float4 operator()(float4 v, uint row, uint column) const {
    return v -
           load_quad(totals, column, kept) * load_quad(centres + ulong(row) * kept, column, kept);
  }
};

// A tile of x^T shares of one set, (dims, kept), less the centres.
template <uint TileM, uint TileN, uint TileK>
struct ResidualTile {
  using Columns = MatrixColumns<float>;
  using Tile = Product<Columns, Columns, TileM, TileN, TileK>;
  static constant constexpr uint kMemory = Tile::kMemory;

  INLINED static void compute(device const float* x, device const float* shares,
                              device const float* totals, device const float* centres,
                              device float* y, uint count, uint dims, uint kept, uint3 tile,
                              threadgroup float4* memory, Place place) {
    const ulong set = tile.z;
    Tile product(tile.xy * uint2(TileN, TileM), memory, place);
    product.multiply({x + set * count * dims, count, dims, dims},
                     {shares + set * count * kept, count, kept, kept}, count);
    product.store(Store<float, WithoutCentres>{
        y + set * dims * kept, dims, kept, {totals + set * kept, centres, kept}});
  }
};

// 1 over a norm of at least 1e-12, by its square.
inline float inverse_norm(float squares) { return 1.0f / max(precise::sqrt(squares), 1e-12f); }

// Columns of one set (dims, kept) over their norms, and all of it over its norm, which follows from
// those of the columns: one pass for squares, one to store.
template <uint SimdGroups>
INLINED void normalise_set(device float* set, uint dims, uint kept,
                           threadgroup ClusterMemory<SimdGroups>& memory, Place place) {
  LaneColumns squares = {};
  for (uint row = place.simdgroup; row < dims; row += SimdGroups) {
    const LaneColumns v = LaneColumns::of(set + ulong(row) * kept, kept, place.lane);
    UNROLLED
    for (uint i = 0; i < LaneColumns::kMost; ++i) {
      squares.at[i] = fma(v.at[i], v.at[i], squares.at[i]);
    }
  }
  LaneColumns scales = sum_of_groups<SimdGroups>(squares, memory, place);
  float sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < LaneColumns::kMost; ++i) {
    const float own = scales.at[i];
    scales.at[i] = inverse_norm(own);
    sum = fma(own * scales.at[i], scales.at[i], sum);
  }
  scales.scale(inverse_norm(simd_sum(sum)), kept);
  for (uint row = place.simdgroup; row < dims; row += SimdGroups) {
    LaneColumns v = LaneColumns::of(set + ulong(row) * kept, kept, place.lane);
    v.scale(scales, kept);
    v.store(set + ulong(row) * kept, kept, place.lane);
  }
}

}  // namespace metalbench
