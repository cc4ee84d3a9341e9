// Attention of one head, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves
// the threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8
// x 8 matrices. The threadgroup walks through the keys in blocks of 32, which pass through one tile
// of threadgroup memory, first K, then V. Softmax is online: when the maximum of a row rises, its
// output so far is scaled by a multiplication with a diagonal matrix, which needs no knowledge of
// how a matrix lies in registers. Four lanes share a row of scores, so its maximum and sum take two
// shuffles each. Keys past the end score -inf, queries past the end are zeros and are not stored.
// Which keys a query sees is a template parameter, Sight: blocks that none of the queries sees are
// left out. Values may have other dims than keys, and a softmax may begin with a logit of its own.
//   first(query)                where it begins, no later than for any query behind
//   end(query, keys)            where it ends, no earlier than for any query before
//   scores(raw, query, key)     four scores, before scaling: -inf where a key is out of sight
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/quads.h"
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// One head: its first element, how many rows it has and how many elements these are apart.
template <typename T>
struct Head {
  device T* data;
  uint rows;
  uint pitch;
};

// All keys; or with Causal those up to the query itself, which is number `earlier` among them if it
// is the first.
template <bool Causal>
struct Seen {
  uint earlier = 0;
  uint first(uint) const { return 0; }
  uint end(uint query, uint keys) const { return Causal ? min(keys, query + earlier + 1) : keys; }
  float4 scores(float4 raw, uint, uint) const { return raw; }
};

// MaxDims bounds the dims of a head: four SIMD-groups with 192 fill threadgroup memory.
template <typename T, uint SimdGroups, uint MaxDims, typename Sight, uint MaxValueDims = MaxDims>
struct SightedAttention {
  static constant constexpr uint kThreads = 32 * SimdGroups;
  static constant constexpr uint kQueries = 8 * SimdGroups;
  static constant constexpr uint kKeys = 32;
  // 8 x 8 matrices in a row of Q, K, V and the output.
  static constant constexpr uint kMaxBlocks = MaxDims / 8;
  static constant constexpr uint kMaxValueBlocks = MaxValueDims / 8;
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

  // Rows first.. of a matrix, zeros past its end and past its `cols`.
  void fill(Head<const T> from, uint first, uint cols) const {
    const uint quads = (cols + 7) / 8 * 2;
    for (uint index = place.thread_index; index < kKeys * quads; index += kThreads) {
      const uint row = index / quads;
      const uint column = index % quads;
      float4 v = float4(0.0f);
      if (first + row < from.rows) {
        device const T* data = from.data + ulong(first + row) * from.pitch;
        v = load_quad(data, 4 * column, cols);
      }
      memory.tile[row * (kPitch / 4) + column] = v;
    }
  }

  // out = diagonal * out, row by row.
  void rescale(thread simdgroup_float8x8 (&out)[kMaxValueBlocks]) const {
    simdgroup_float8x8 factor;
    simdgroup_load(factor, memory.diagonals[place.simdgroup], 8);
    for (uint j = 0; j < kMaxValueBlocks; ++j) {
      if (j < value_blocks()) {
        const simdgroup_float8x8 old = out[j];
        simdgroup_multiply(out[j], factor, old);
      }
    }
  }

  // The eight scores of a lane, in row lane / 4, become weights relative to the new maximum; the
  // keys from `first_key` on end at `end` for its query.
  void update(thread float& peak, thread float& sum, float scale, uint first_key, uint end) const {
    const uint first = 8 * (place.lane % 4);
    const uint left = end > first_key ? end - first_key : 0;
    threadgroup float4* mine =
        memory.scores[place.simdgroup] + place.lane / 4 * (kScorePitch / 4) + first / 4;
    const uint4 key = first + uint4(0, 1, 2, 3);
    const uint query = own_query();
    const uint at = first_key + first;
    const float4 a = select(float4(-INFINITY), sight.scores(mine[0], query, at), key < left);
    const float4 b =
        select(float4(-INFINITY), sight.scores(mine[1], query, at + 4), key + 4 < left);
    const float4 larger = max(a, b);
    float higher = max(max(larger.x, larger.y), max(larger.z, larger.w));
    higher = max(higher, simd_shuffle_xor(higher, 1));
    higher = max(peak, max(higher, simd_shuffle_xor(higher, 2)));
    // Where no key was in sight yet, -inf - -inf would be NaN.
    const float level = higher > -INFINITY ? higher : 0.0f;
    // Scaling the difference keeps large scores from losing digits to one more rounding.
    const float4 p = exp2((a - level) * scale);
    const float4 q = exp2((b - level) * scale);
    mine[0] = p;
    mine[1] = q;
    const float4 both = p + q;
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = exp2((peak - level) * scale);
    if (place.lane % 4 == 0) {
      *correction() = shrink;
    }
    sum = sum * shrink + added;
    peak = higher;
  }

  // The scores of the keys in the tile.
  void score(thread const simdgroup_float8x8 (&query)[kMaxBlocks]) const {
    for (uint c = 0; c < kKeys; c += 8) {
      simdgroup_float8x8 sums = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      for (uint j = 0; j < kMaxBlocks; ++j) {
        if (j < blocks()) {
          simdgroup_float8x8 key;
          simdgroup_load(key, tile_rows() + c * kPitch + 8 * j, kPitch, ulong2(0), true);
          simdgroup_multiply_accumulate(sums, query[j], key, sums);
        }
      }
      simdgroup_store(sums, own_scores() + c, kScorePitch);
    }
  }

  // Adds the values in the tile, by their weights.
  void gather(thread simdgroup_float8x8 (&out)[kMaxValueBlocks]) const {
    for (uint c = 0; c < kKeys; c += 8) {
      simdgroup_float8x8 weight;
      simdgroup_load(weight, own_scores() + c, kScorePitch);
      for (uint j = 0; j < kMaxValueBlocks; ++j) {
        if (j < value_blocks()) {
          simdgroup_float8x8 value;
          simdgroup_load(value, tile_rows() + c * kPitch + 8 * j, kPitch);
          simdgroup_multiply_accumulate(out[j], weight, value, out[j]);
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
      if (j < blocks()) {
        simdgroup_load(query[j], own_rows() + 8 * j, kPitch);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Exponentials to base two: log2(e) is part of the scale.
    const float scale = 1.44269504f * precise::rsqrt(float(dims));
    const uint end = sight.end(first_query + kQueries - 1, k.rows);
    float peak = logit * precise::sqrt(float(dims));
    float sum = logit > -INFINITY ? 1.0f : 0.0f;
    for (uint first = sight.first(first_query) / kKeys * kKeys; first < end; first += kKeys) {
      fill(k, first, dims);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      score(query);
      threadgroup_barrier(mem_flags::mem_threadgroup);

      fill(v, first, value_dims);
      update(peak, sum, scale, first, sight.end(own_query(), k.rows));
      threadgroup_barrier(mem_flags::mem_threadgroup);
      rescale(out);
      gather(out);
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (place.lane % 4 == 0) {
      *correction() = 1.0f / sum;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    rescale(out);
    store(out, y);
  }

  template <typename Out>
  void store(thread const simdgroup_float8x8 (&out)[kMaxValueBlocks], Head<Out> y) const {
    for (uint j = 0; j < kMaxValueBlocks; ++j) {
      if (j < value_blocks()) {
        simdgroup_store(out[j], own_rows() + 8 * j, kPitch);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint quads = (value_dims + 3) / 4;
    for (uint index = place.lane; index < 8 * quads; index += 32) {
      const uint row = 8 * place.simdgroup + index / quads;
      const uint column = index % quads;
      if (first_query + row < y.rows) {
        device Out* to = y.data + ulong(first_query + row) * y.pitch;
        store_quad(to, 4 * column, value_dims, memory.tile[row * (kPitch / 4) + column]);
      }
    }
  }
};

template <typename T, uint SimdGroups, uint MaxDims, bool Causal>
using Attention = SightedAttention<T, SimdGroups, MaxDims, Seen<Causal>>;

}  // namespace metalbench
