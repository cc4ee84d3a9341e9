// Attention of one head, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves
// the threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8
// x 8 matrices. The threadgroup walks through the keys in blocks of 32, which pass through one tile
// of threadgroup memory, first K, then V. Softmax is online: when the maximum of a row rises, its
// output so far is scaled by a multiplication with a diagonal matrix, which needs no knowledge of
// how a matrix lies in registers. Four lanes share a row of scores, so its maximum and sum take two
// shuffles each. Keys past the end score -inf, queries past the end are zeros and are not stored.
// With Causal a query sees the keys up to its own index, and blocks that none of the queries sees
// are left out.
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

// MaxDims bounds the dims of a head; 128 fill threadgroup memory.
template <typename T, uint SimdGroups, uint MaxDims, bool Causal>
struct Attention {
  static constant constexpr uint kThreads = 32 * SimdGroups;
  static constant constexpr uint kQueries = 8 * SimdGroups;
  static constant constexpr uint kKeys = 32;
  // 8 x 8 matrices in a row of Q, K, V and the output.
  static constant constexpr uint kMaxBlocks = MaxDims / 8;
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
  uint first_query;
  Place place;

  Attention(threadgroup Memory& memory, uint dims, uint group, Place place)
      : memory(memory), dims(dims), first_query(group * kQueries), place(place) {}

  uint blocks() const { return (dims + 7) / 8; }
  threadgroup float* tile_rows() const { return (threadgroup float*)memory.tile; }
  threadgroup float* own_rows() const { return tile_rows() + 8 * place.simdgroup * kPitch; }
  threadgroup float* own_scores() const {
    return (threadgroup float*)memory.scores[place.simdgroup];
  }
  // This lane's element of the diagonal that rescales what came before.
  threadgroup float* correction() const {
    return memory.diagonals[place.simdgroup] + place.lane / 4 * 9;
  }

  // Rows first.. of a matrix, zeros past its end and past its dims.
  void fill(Head<const T> from, uint first) const {
    const uint quads = 2 * blocks();
    for (uint index = place.thread_index; index < kKeys * quads; index += kThreads) {
      const uint row = index / quads;
      const uint column = index % quads;
      float4 v = float4(0.0f);
      if (first + row < from.rows) {
        device const T* data = from.data + ulong(first + row) * from.pitch;
        v = load_quad(data, 4 * column, dims);
      }
      memory.tile[row * (kPitch / 4) + column] = v;
    }
  }

  // out = diagonal * out, row by row.
  void rescale(thread simdgroup_float8x8 (&out)[kMaxBlocks]) const {
    simdgroup_float8x8 factor;
    simdgroup_load(factor, memory.diagonals[place.simdgroup], 8);
    for (uint j = 0; j < kMaxBlocks; ++j) {
      if (j < blocks()) {
        const simdgroup_float8x8 old = out[j];
        simdgroup_multiply(out[j], factor, old);
      }
    }
  }

  // The eight scores of a lane, in row lane / 4, become weights relative to the new maximum; `left`
  // keys are in sight.
  void update(thread float& peak, thread float& sum, float scale, uint left) const {
    const uint first = 8 * (place.lane % 4);
    threadgroup float4* mine =
        memory.scores[place.simdgroup] + place.lane / 4 * (kScorePitch / 4) + first / 4;
    const uint4 key = first + uint4(0, 1, 2, 3);
    const float4 a = select(float4(-INFINITY), mine[0], key < left);
    const float4 b = select(float4(-INFINITY), mine[1], key + 4 < left);
    const float4 larger = max(a, b);
    float higher = max(max(larger.x, larger.y), max(larger.z, larger.w));
    higher = max(higher, simd_shuffle_xor(higher, 1));
    higher = max(peak, max(higher, simd_shuffle_xor(higher, 2)));
    // Scaling the difference keeps large scores from losing digits to one more rounding.
    const float4 p = exp2((a - higher) * scale);
    const float4 q = exp2((b - higher) * scale);
    mine[0] = p;
    mine[1] = q;
    const float4 both = p + q;
    float added = (both.x + both.y) + (both.z + both.w);
    added += simd_shuffle_xor(added, 1);
    added += simd_shuffle_xor(added, 2);
    const float shrink = exp2((peak - higher) * scale);
    if (place.lane % 4 == 0) {
      *correction() = shrink;
    }
    sum = sum * shrink + added;
    peak = higher;
  }

  // How many of the keys from `first` on this lane's query sees.
  uint in_sight(uint keys, uint first) const {
    const uint query = first_query + 8 * place.simdgroup + place.lane / 4;
    const uint end = Causal ? min(keys, query + 1) : keys;
    return end > first ? end - first : 0;
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
  void gather(thread simdgroup_float8x8 (&out)[kMaxBlocks]) const {
    for (uint c = 0; c < kKeys; c += 8) {
      simdgroup_float8x8 weight;
      simdgroup_load(weight, own_scores() + c, kScorePitch);
      for (uint j = 0; j < kMaxBlocks; ++j) {
        if (j < blocks()) {
          simdgroup_float8x8 value;
          simdgroup_load(value, tile_rows() + c * kPitch + 8 * j, kPitch);
          simdgroup_multiply_accumulate(out[j], weight, value, out[j]);
        }
      }
    }
  }

  template <typename Out>
  void run(Head<const T> q, Head<const T> k, Head<const T> v, Head<Out> y) const {
    fill(q, first_query);
    memory.diagonals[place.simdgroup][place.lane] = 0.0f;
    memory.diagonals[place.simdgroup][place.lane + 32] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 query[kMaxBlocks];
    simdgroup_float8x8 out[kMaxBlocks];
    for (uint j = 0; j < kMaxBlocks; ++j) {
      out[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      if (j < blocks()) {
        simdgroup_load(query[j], own_rows() + 8 * j, kPitch);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Exponentials to base two: log2(e) is part of the scale.
    const float scale = 1.44269504f * precise::rsqrt(float(dims));
    const uint end = Causal ? min(k.rows, first_query + kQueries) : k.rows;
    float peak = -INFINITY;
    float sum = 0.0f;
    for (uint first = 0; first < end; first += kKeys) {
      fill(k, first);
      threadgroup_barrier(mem_flags::mem_threadgroup);
      score(query);
      threadgroup_barrier(mem_flags::mem_threadgroup);

      fill(v, first);
      update(peak, sum, scale, in_sight(k.rows, first));
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
  void store(thread const simdgroup_float8x8 (&out)[kMaxBlocks], Head<Out> y) const {
    for (uint j = 0; j < kMaxBlocks; ++j) {
      if (j < blocks()) {
        simdgroup_store(out[j], own_rows() + 8 * j, kPitch);
      }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    const uint quads = (dims + 3) / 4;
    for (uint index = place.lane; index < 8 * quads; index += 32) {
      const uint row = 8 * place.simdgroup + index / quads;
      const uint column = index % quads;
      if (first_query + row < y.rows) {
        device Out* to = y.data + ulong(first_query + row) * y.pitch;
        store_quad(to, 4 * column, dims, memory.tile[row * (kPitch / 4) + column]);
      }
    }
  }
};

}  // namespace metalbench
