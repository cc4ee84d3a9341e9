// Attention of one head, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves
// the threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8
// x 8 matrices. The keys pass in blocks of 32 through one tile of threadgroup memory, first K, then
// V. Softmax is online: when the level of a row rises, its output so far is multiplied with a
// diagonal matrix, which needs no knowledge of how a matrix lies in registers. Products go in steps
// of four blocks of dims by four of keys, of which no sum waits for another. Keys past the end
// score -inf, queries past the end are zeros and are not stored. What a query sees is a Sight.
// Values may have other dims than keys, and a softmax may begin with a logit of its own.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// MaxDims bounds the dims of a head: four SIMD-groups with 192 fill threadgroup memory.
template <typename T, uint SimdGroups, uint MaxDims, typename Sight, uint MaxValueDims = MaxDims>
struct SightedAttention {
  static constant constexpr uint kThreads = 32 * SimdGroups;
  static constant constexpr uint kQueries = 8 * SimdGroups;
  static constant constexpr uint kKeys = 32;
  // 8 x 8 matrices in a row of Q, K, V and the output.
  static constant constexpr uint kMaxBlocks = MaxDims / 8;
  static constant constexpr uint kMaxValueBlocks = MaxValueDims / 8;
  static constant constexpr uint kStep = 4;
  static_assert(MaxDims % 32 == 0 && MaxValueDims % 32 == 0, "steps are 32 dims");
  // Rows in threadgroup memory, padded so that the rows of a matrix load lie in different banks.
  static constant constexpr uint kPitch = MaxDims + 4;
  static constant constexpr uint kScorePitch = kKeys + 4;

  struct Memory {
    float4 tile[kKeys * kPitch / 4];
    float4 scores[SimdGroups][8 * kScorePitch / 4];
    float diagonals[SimdGroups][64];
  };

  threadgroup Memory& memory;
  uint dims;
  uint value_dims;
  uint first_query;
  Place place;
  Sight sight;

  SightedAttention(threadgroup Memory& memory, uint dims, uint group, Place place,
                   Sight sight = Sight(), uint value_dims = 0)
      : memory(memory),
        dims(dims),
        value_dims(value_dims == 0 ? dims : value_dims),
        first_query(group * kQueries),
        place(place),
        sight(sight) {}

  uint blocks() const { return (dims + 7) / 8; }
  uint value_blocks() const { return (value_dims + 7) / 8; }
  uint own_query() const { return first_query + 8 * place.simdgroup + place.lane / 4; }
  threadgroup float* tile_rows() const { return (threadgroup float*)memory.tile; }
  threadgroup float* own_rows() const { return tile_rows() + 8 * place.simdgroup * kPitch; }
  threadgroup float* own_scores() const {
    return (threadgroup float*)memory.scores[place.simdgroup];
  }
  // This lane's element of the diagonal that rescales what came before.
  threadgroup float* correction() const {
    return memory.diagonals[place.simdgroup] + place.lane / 4 * 9;
  }

  void fill(Head<const T> from, uint first, uint cols) const {
    fill_rows<kKeys, kPitch / 4, kThreads>(memory.tile, from, first, cols, place.thread_index);
  }

  // out = diagonal * out, row by row.
  INLINED void rescale(thread simdgroup_float8x8 (&out)[kMaxValueBlocks]) const {
    simdgroup_float8x8 factor;
    simdgroup_load(factor, memory.diagonals[place.simdgroup], 8);
    for (uint j = 0; j < kMaxValueBlocks; ++j) {
      if (j < value_blocks()) {
        const simdgroup_float8x8 old = out[j];
        simdgroup_multiply(out[j], factor, old);
      }
    }
  }

  // The eight scores of a lane, in row lane / 4, become weights relative to the level; keys end at
  // `end` for its query. Tells by what earlier weights of the row shrink.
  float update(thread OnlineRow& softmax, float scale, uint first_key, uint end) const {
    const uint first = 8 * (place.lane % 4);
    threadgroup float4* mine =
        memory.scores[place.simdgroup] + place.lane / 4 * (kScorePitch / 4) + first / 4;
    show(mine, sight, own_query(), first_key + first, end);
    const float shrink = softmax.take(mine, scale);
    if (place.lane % 4 == 0) {
      *correction() = shrink;
    }
    return shrink;
  }

  // The scores of the keys in the tile.
  INLINED void score(thread const simdgroup_float8x8 (&query)[kMaxBlocks]) const {
    simdgroup_float8x8 sums[kKeys / 8];
    for (uint c = 0; c < kKeys / 8; ++c) {
      sums[c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
#pragma clang loop unroll(full)
    for (uint step = 0; step < kMaxBlocks; step += kStep) {
      if (step < blocks()) {
        for (uint j = step; j < step + kStep; ++j) {
          for (uint c = 0; c < kKeys / 8; ++c) {
            simdgroup_float8x8 key;
            simdgroup_load(key, tile_rows() + 8 * c * kPitch + 8 * j, kPitch, ulong2(0), true);
            simdgroup_multiply_accumulate(sums[c], query[j], key, sums[c]);
          }
        }
      }
    }
    for (uint c = 0; c < kKeys / 8; ++c) {
      simdgroup_store(sums[c], own_scores() + 8 * c, kScorePitch);
    }
  }

  // Adds the values in the tile, by their weights.
  INLINED void gather(thread simdgroup_float8x8 (&out)[kMaxValueBlocks]) const {
    for (uint step = 0; step < kMaxValueBlocks; step += kStep) {
      if (step < value_blocks()) {
        for (uint c = 0; c < kKeys; c += 8) {
          simdgroup_float8x8 weight;
          simdgroup_load(weight, own_scores() + c, kScorePitch);
          for (uint j = step; j < step + kStep; ++j) {
            simdgroup_float8x8 value;
            simdgroup_load(value, tile_rows() + c * kPitch + 8 * j, kPitch);
            simdgroup_multiply_accumulate(out[j], weight, value, out[j]);
          }
        }
      }
    }
  }

  // `logit` is that of something without a value, in the softmax of every query.
  template <typename Out>
  void run(Head<const T> q, Head<const T> k, Head<const T> v, Head<Out> y,
           float logit = -INFINITY) const {
    fill(q, first_query, dims);
    memory.diagonals[place.simdgroup][place.lane] = 0.0f;
    memory.diagonals[place.simdgroup][place.lane + 32] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 query[kMaxBlocks];
    simdgroup_float8x8 out[kMaxValueBlocks];
    for (uint j = 0; j < kMaxValueBlocks; ++j) {
      out[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    for (uint j = 0; j < kMaxBlocks; ++j) {
      if (j / kStep * kStep < blocks()) {
        simdgroup_load(query[j], own_rows() + 8 * j, kPitch);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Exponentials to base two: log2(e) is part of the scale.
    const float scale = 1.44269504f * precise::rsqrt(float(dims));
    const uint end = sight.end(first_query + kQueries - 1, k.rows);
    OnlineRow softmax = {logit * precise::sqrt(float(dims)), logit > -INFINITY ? 1.0f : 0.0f};
    for (uint first = sight.first(first_query) / kKeys * kKeys; first < end; first += kKeys) {
      fill(k, first, dims);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      score(query);
      threadgroup_barrier(mem_flags::mem_threadgroup);

      fill(v, first, value_dims);
      const float shrink = update(softmax, scale, first, sight.end(own_query(), k.rows));
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (simd_any(shrink != 1.0f)) {
        rescale(out);
      }
      gather(out);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (place.lane % 4 == 0) {
      *correction() = 1.0f / softmax.sum;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    rescale(out);
    for (uint j = 0; j < kMaxValueBlocks; ++j) {
      if (j < value_blocks()) {
        simdgroup_store(out[j], own_rows() + 8 * j, kPitch);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    store_rows<kPitch / 4>(y, memory.tile, 8 * place.simdgroup, first_query, value_dims,
                           place.lane);
  }
};

template <typename T, uint SimdGroups, uint MaxDims, bool Causal>
using Attention = SightedAttention<T, SimdGroups, MaxDims, Seen<Causal>>;

}  // namespace metalbench
