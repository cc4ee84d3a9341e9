// Attention of one head, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves
// the threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8
// x 8 matrices. Q, K, V and weights have the element type of the arrays, scores and sums are float.
// The keys pass in blocks of 32 through one tile of threadgroup memory, first K, then V. Softmax is
// online: when the level of a row rises, its output so far is multiplied with a diagonal matrix,
// which needs no knowledge of how a matrix lies in registers. Keys past the end score -inf, queries
// past the end are zeros and are not stored. What a query sees is a Sight. Values may have fewer
// dims than keys, and a softmax may begin with an extra logit.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/attention_products.h"
#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/quads.h"
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// MaxDims bounds the dims of a head: four times eight queries with 192 fill threadgroup memory. For
// GPUs on which a few threadgroups have too little to do beside each other, several SIMD-groups may
// split eight queries, each with its Splits-th part of the keys and of the values' dims; and Ahead,
// keys and values are asked for before they are needed (PassingRows).
template <typename T, uint SimdGroups, uint MaxDims, typename Sight, uint MaxValueDims = MaxDims,
          uint Splits = 1, bool Ahead = false>
struct SightedAttention {
  static constant constexpr uint kThreads = 32 * SimdGroups * Splits;
  static constant constexpr uint kQueries = 8 * SimdGroups;
  static constant constexpr uint kKeys = 32;
  // 8 x 8 matrices in a row of Q, K, V and the output.
  static constant constexpr uint kMaxBlocks = MaxDims / 8;
  static constant constexpr uint kMaxValueBlocks = MaxValueDims / 8;
  // Of them, and of the keys', what a SIMD-group has.
  static constant constexpr uint kOwnValueBlocks = kMaxValueBlocks / Splits;
  static constant constexpr uint kOwnKeyBlocks = kKeys / 8 / Splits;
  static_assert(MaxDims % 32 == 0 && MaxValueDims % (32 * Splits) == 0, "steps are 32 dims");
  static_assert(MaxValueDims <= MaxDims, "values pass through the tile of the keys");
  // Rows in threadgroup memory, padded so that the rows of a matrix load lie in different banks.
  static constant constexpr uint kPitch = MaxDims + 16 / sizeof(T);
  static constant constexpr uint kScorePitch = kKeys + 4;

  using Queries = PassingRows<T, kQueries, MaxDims, kPitch, kThreads>;
  using Keys = PassingRows<T, kKeys, MaxDims, kPitch, kThreads, Ahead>;
  using Values = PassingRows<T, kKeys, MaxValueDims, kPitch, kThreads, Ahead>;

  struct Memory {
    float4 tile[kKeys * kPitch * sizeof(T) / sizeof(float4)];
    float4 scores[SimdGroups][8 * kScorePitch / 4];
    float diagonals[SimdGroups][64];
  };
  static_assert(sizeof(Memory::tile) + sizeof(Memory::scores) >= 1024 * SimdGroups * Splits,
                "each SIMD-group stores its output through 1 KiB of the memory before `diagonals`");

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
  // Of the values', from the own split on.
  uint value_blocks() const {
    const uint all = (value_dims + 7) / 8;
    return max(all, own_value_block()) - own_value_block();
  }
  // Which eight queries, and which split of what belongs to them.
  uint own_eight() const { return Splits == 1 ? place.simdgroup : place.simdgroup % SimdGroups; }
  uint own_split() const { return Splits == 1 ? 0 : place.simdgroup / SimdGroups; }
  uint own_key() const { return 8 * own_split() * kOwnKeyBlocks; }
  uint own_value_block() const { return own_split() * kOwnValueBlocks; }
  uint own_query() const { return first_query + 8 * own_eight() + place.lane / 4; }
  threadgroup T* tile_rows() const { return (threadgroup T*)memory.tile; }
  threadgroup T* own_rows() const { return tile_rows() + 8 * own_eight() * kPitch; }
  threadgroup float* own_scores() const { return (threadgroup float*)memory.scores[own_eight()]; }
  threadgroup const T* own_values() const { return tile_rows() + 8 * own_value_block(); }
  // What rescales what came before, and this lane's element of it.
  threadgroup float* diagonal() const { return memory.diagonals[own_eight()]; }
  threadgroup float* correction() const { return diagonal() + place.lane / 4 * 9; }

  // The eight scores of a lane, in row lane / 4, become weights relative to the level, of `keys`
  // keys in all. Returns by what earlier weights of the row shrink.
  float update(thread OnlineRow& softmax, float scale, uint first_key, uint keys) const {
    const uint first = 8 * (place.lane % 4);
    threadgroup float4* mine =
        memory.scores[own_eight()] + place.lane / 4 * (kScorePitch / 4) + first / 4;
    float4 scores[2];
    UNROLLED
    for (uint i = 0; i < 2; ++i) {
      scores[i] = sight.scores(mine[i], own_query(), first_key + first + 4 * i);
    }
    // No query sees less than the SIMD-group's first: most blocks have no key that one does not
    // see.
    if (first_key + kKeys > sight.end(first_query + 8 * own_eight(), keys)) {
      hide_behind(scores, first_key + first, sight.end(own_query(), keys));
    }
    const float shrink = softmax.take(scores, (threadgroup Quad<T>*)mine, scale);
    if (place.lane % 4 == 0) {
      *correction() = shrink;
    }
    return shrink;
  }

  // `logit` is that of something without a value, in the softmax of every query. With `lse`, every
  // query's logarithm of the sum of exponentials goes there.
  INLINED void attend(Head<const T> q, Head<const T> k, Head<const T> v, Head<T> y,
                      float logit = -INFINITY, device float* lse = nullptr) const {
    Queries(q, first_query, dims, place.thread_index).put(tile_rows());
    diagonal()[place.lane] = 0.0f;
    diagonal()[place.lane + 32] = 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_matrix<T, 8, 8> query[kMaxBlocks];
    simdgroup_float8x8 out[kOwnValueBlocks];
    UNROLLED
    for (uint j = 0; j < kOwnValueBlocks; ++j) {
      out[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    UNROLLED
    for (uint j = 0; j < kMaxBlocks; ++j) {
      if (j / kAttentionStep * kAttentionStep < blocks()) {
        // check: allow registers queries and results stay in registers over all keys
        simdgroup_load(query[j], own_rows() + 8 * j, kPitch);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);

    // Exponentials to base two: log2(e) is part of the scale.
    const float scale = 1.44269504f * precise::rsqrt(float(dims));
    const uint end = sight.end(first_query + kQueries - 1, k.rows);
    const float one = logit > -INFINITY ? 1.0f : 0.0f;
    OnlineRow softmax = {logit * precise::sqrt(float(dims)), one, place.lane % 4 == 0 ? one : 0.0f};
    const uint begin = sight.first(first_query) / kKeys * kKeys;
    Keys keys(k, begin, dims, place.thread_index);
    Values values(v, begin, value_dims, place.thread_index);
    keys.expect();
    for (uint first = begin; first < end; first += kKeys) {
      keys.put(tile_rows());
      threadgroup_barrier(mem_flags::mem_threadgroup);
      values.expect();
      score_keys<kPitch, kScorePitch, kOwnKeyBlocks>(
          query, blocks(), tile_rows() + own_key() * kPitch, own_scores() + own_key());
      threadgroup_barrier(mem_flags::mem_threadgroup);

      values.put(tile_rows());
      float shrink = 1.0f;
      if (own_split() == 0) {
        shrink = update(softmax, scale, first, k.rows);
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (Splits > 1) {
        shrink = *correction();
      }
      keys.expect();
      if (simd_any(shrink != 1.0f)) {
        rescale_rows(out, value_blocks(), diagonal());
      }
      gather_values<kPitch, kScorePitch, kKeys>(out, value_blocks(), own_values(), own_scores());
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    if (own_split() == 0 && place.lane % 4 == 0) {
      *correction() = 1.0f / softmax.sum;
    }
    if (lse) {
      const float sum = softmax.log_sum(precise::rsqrt(float(dims)));
      if (own_split() == 0 && place.lane % 4 == 0 && own_query() < q.rows) {
        lse[own_query()] = sum;
      }
    }
    split_barrier();
    rescale_rows(out, value_blocks(), diagonal());
    store(out, y);
  }

  // Stores the output of the SIMD-group.
  INLINED void store(thread const simdgroup_float8x8 (&out)[kOwnValueBlocks], Head<T> y) const {
    threadgroup float* strip = (threadgroup float*)&memory + 256 * place.simdgroup;
    store_eight_rows(out, value_blocks(), strip, y, first_query + 8 * own_eight(),
                     8 * own_value_block(), value_dims, place.lane);
  }

  // Of those that split eight queries.
  static void split_barrier() {
    if (Splits == 1) {
      simdgroup_barrier(mem_flags::mem_threadgroup);
    } else {
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }
};

}  // namespace metalbench
