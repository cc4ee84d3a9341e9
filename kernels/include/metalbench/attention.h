// Attention of one head, softmax(Q K^T / sqrt(dims)) V, in one pass over K and V: no score leaves
// the threadgroup. Each SIMD-group owns eight queries: Q and the output live in its registers as 8
// x 8 matrices. Q, K, V and weights have the element type of the arrays, scores and sums are float.
// The keys pass in blocks of 32 through one tile of threadgroup memory, first K, then V. Softmax is
// online: when the level of a row rises, its output so far is multiplied with a diagonal matrix,
// which needs no knowledge of how a matrix lies in registers. Keys past the end score -inf, queries
// past the end are zeros and are not stored. What a query sees is a Sight. Values may have fewer
// dims than keys, and a softmax may begin with an extra logit. Heads that are wider than a tile
// pass through it in strips of dims: all strips of a block of keys, then all of its values. Keys
// and values are a Head, or a source of quads (PassingQuads), such as a cache of few bits or one in
// pages.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/attention_products.h"
#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/partials.h"
#include "metalbench/quads.h"
#include "metalbench/tiles.h"

namespace metalbench {

using namespace metal;

// MaxDims bounds the dims of a head: four times eight queries with 192 fill threadgroup memory, and
// more dims than that take strips, which divide MaxDims and MaxValueDims. For GPUs on which a few
// threadgroups have too little to do beside each other, several SIMD-groups may split eight
// queries, each with its Splits-th part of the keys and of the dims of a strip of values; and
// Ahead, keys and values are asked for before they are needed (PassingRows). Queries of more than
// 256 dims would take too many registers: they stay in threadgroup memory.
template <typename T, uint SimdGroups, uint MaxDims, typename Sight, uint MaxValueDims = MaxDims,
          uint Splits = 1, bool Ahead = false, uint Strip = MaxDims>
struct SightedAttention {
  static constant constexpr uint kThreads = 32 * SimdGroups * Splits;
  static constant constexpr uint kQueries = 8 * SimdGroups;
  static constant constexpr uint kKeys = 32;
  // Dims of keys and of values that pass through the tile at once.
  static constant constexpr uint kStrips = MaxDims / Strip;
  static constant constexpr uint kValueStrip = MaxValueDims < Strip ? MaxValueDims : Strip;
  static constant constexpr uint kValueStrips = MaxValueDims / kValueStrip;
  // 8 x 8 matrices in a row of a strip of Q and K.
  static constant constexpr uint kStripBlocks = Strip / 8;
  // Of those of a strip of V, and of the keys', what a SIMD-group has.
  static constant constexpr uint kOwnValueBlocks = kValueStrip / 8 / Splits;
  static constant constexpr uint kOwnKeyBlocks = kKeys / 8 / Splits;
  static_assert(MaxDims % Strip == 0 && MaxValueDims % kValueStrip == 0, "strips are equal");
  static_assert(Strip % 32 == 0 && kValueStrip % (32 * Splits) == 0, "steps are 32 dims");
  static_assert(MaxValueDims <= MaxDims, "values pass through the tile of the keys");
  // Rows in threadgroup memory, padded so that the rows of a matrix load lie in different banks.
  static constant constexpr uint kPitch = Strip + 16 / sizeof(T);
  static constant constexpr uint kScorePitch = kKeys + 4;

  static constant constexpr bool kQueriesInMemory = MaxDims > 256;
  static constant constexpr uint kQueryPitch = kQueriesInMemory ? MaxDims + 16 / sizeof(T) : kPitch;

  using Queries = PassingRows<T, kQueries, Strip, kQueryPitch, kThreads>;
  template <typename Source, uint Cols>
  using Passing = typename PassingOf<Source, T, kKeys, Cols, kPitch, kThreads, Ahead>::Rows;
  using HeadRows = Passing<Head<const T>, Strip>;
  using Output = simdgroup_float8x8[kValueStrips][kOwnValueBlocks];

  static constant constexpr uint kTile = kKeys * kPitch * sizeof(T) / sizeof(float4);
  static constant constexpr uint kQueryTile =
      kQueriesInMemory ? kQueries * kQueryPitch * sizeof(T) / sizeof(float4) : 0;

  struct Memory {
    float4 tile[kTile + kQueryTile];
    float4 scores[SimdGroups][8 * kScorePitch / 4];
    float diagonals[SimdGroups][64];
  };
  static_assert(sizeof(Memory::tile) + sizeof(Memory::scores) >= 1024 * SimdGroups * Splits,
                "each SIMD-group stores its output through 1 KiB of the memory before `diagonals`");

  threadgroup Memory& memory;
  uint dims;
  uint value_dims;
  uint scaling_dims;
  uint first_query;
  Place place;
  Sight sight;

  // Scores are divided by the square root of `scaling_dims`, which are the dims unless given.
  SightedAttention(threadgroup Memory& memory, uint dims, uint group, Place place,
                   Sight sight = Sight(), uint value_dims = 0, uint scaling_dims = 0)
      : memory(memory),
        dims(dims),
        value_dims(value_dims == 0 ? dims : value_dims),
        scaling_dims(scaling_dims == 0 ? dims : scaling_dims),
        first_query(group * kQueries),
        place(place),
        sight(sight) {}

  // Where a strip begins, whether there is one and whether it is the last one.
  static uint begin_of(uint strip) { return kStrips == 1 ? 0 : strip * Strip; }
  bool has_strip(uint strip) const { return strip == 0 || begin_of(strip) < dims; }
  bool has_value_strip(uint strip) const { return strip == 0 || begin_of(strip) < value_dims; }
  bool is_last(uint strip) const { return kStrips == 1 || begin_of(strip + 1) >= dims; }
  bool is_last_value(uint strip) const {
    return kValueStrips == 1 || begin_of(strip + 1) >= value_dims;
  }
  // The matrices of a strip.
  uint blocks(uint strip = 0) const { return (dims - begin_of(strip) + 7) / 8; }
  // Of the values', from the own split on.
  uint value_blocks(uint strip = 0) const {
    const uint all = (value_dims - begin_of(strip) + 7) / 8;
    return max(all, own_value_block()) - own_value_block();
  }
  // Of scores, whose exponentials are to base two.
  float scale_to_base_two() const { return 1.44269504f * precise::rsqrt(float(scaling_dims)); }
  // Which eight queries, and which split of what belongs to them.
  uint own_eight() const { return Splits == 1 ? place.simdgroup : place.simdgroup % SimdGroups; }
  uint own_split() const { return Splits == 1 ? 0 : place.simdgroup / SimdGroups; }
  uint own_key() const { return 8 * own_split() * kOwnKeyBlocks; }
  uint own_value_block() const { return own_split() * kOwnValueBlocks; }
  uint own_query() const { return first_query + 8 * own_eight() + place.lane / 4; }
  threadgroup T* tile_rows() const { return (threadgroup T*)memory.tile; }
  threadgroup T* query_rows() const {
    return (threadgroup T*)(memory.tile + (kQueriesInMemory ? kTile : 0));
  }
  threadgroup T* own_rows() const { return query_rows() + 8 * own_eight() * kQueryPitch; }
  threadgroup float* own_scores() const { return (threadgroup float*)memory.scores[own_eight()]; }
  threadgroup const T* own_keys() const { return tile_rows() + own_key() * kPitch; }
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
  template <typename K = Head<const T>, typename V = Head<const T>>
  INLINED void attend(Head<const T> q, K k, V v, Head<T> y, float logit = -INFINITY,
                      device float* lse = nullptr) const {
    Output out;
    const float one = logit > -INFINITY ? 1.0f : 0.0f;
    OnlineRow softmax = {logit * precise::sqrt(float(scaling_dims)), one,
                         place.lane % 4 == 0 ? one : 0.0f};
    gather(q, k, v, out, softmax, 0, k.rows);
    if (own_split() == 0 && place.lane % 4 == 0) {
      *correction() = 1.0f / softmax.sum;
    }
    if (lse) {
      const float sum = softmax.log_sum(precise::rsqrt(float(scaling_dims)));
      if (own_split() == 0 && place.lane % 4 == 0 && own_query() < q.rows) {
        lse[own_query()] = sum;
      }
    }
    split_barrier();
    UNROLLED
    for (uint s = 0; s < kValueStrips; ++s) {
      if (has_value_strip(s)) {
        rescale_rows(out[s], value_blocks(s), diagonal());
      }
    }
    store(out, y);
  }

  // The partials (partials.h) of span `span`, keys begin .. end - 1; `begin` is a multiple of
  // kKeys.
  template <typename K = Head<const T>, typename V = Head<const T>>
  INLINED void attend_span(Head<const T> q, K k, V v, Partials to, uint span, uint begin,
                           uint end) const {
    Output out;
    OnlineRow softmax = {-INFINITY, 0.0f, 0.0f};
    gather(q, k, v, out, softmax, begin, end);
    if (own_split() == 0 && place.lane % 4 == 0 && own_query() < q.rows) {
      to.levels[ulong(own_query()) * to.spans + span] =
          float2(softmax.level * scale_to_base_two(), softmax.sum);
    }
    store(out, Head<float>{to.out + ulong(span) * to.dims, q.rows, to.spans * to.dims});
  }

  // Sums of the values of keys begin .. end - 1, relative to the level of the softmax.
  template <typename K, typename V>
  INLINED void gather(Head<const T> q, K k, V v, thread Output& out, thread OnlineRow& softmax,
                      uint begin, uint end) const {
    Queries queries(q, first_query, dims, place.thread_index);
    diagonal()[place.lane] = 0.0f;
    diagonal()[place.lane + 32] = 0.0f;
    simdgroup_matrix<T, 8, 8> query[kStrips][kStripBlocks];
    UNROLLED
    for (uint s = 0; s < kStrips; ++s) {
      if (has_strip(s)) {
        if (kQueriesInMemory) {
          queries.put(query_rows() + begin_of(s), begin_of(s), is_last(s));
          continue;
        }
        queries.put(query_rows(), begin_of(s), is_last(s));
        threadgroup_barrier(mem_flags::mem_threadgroup);
        UNROLLED
        for (uint j = 0; j < kStripBlocks; ++j) {
          if (j / kAttentionStep * kAttentionStep < blocks(s)) {
            // check: allow registers queries and results stay in registers over all keys
            simdgroup_load(query[s][j], own_rows() + 8 * j, kQueryPitch);
          }
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
    UNROLLED
    for (uint s = 0; s < kValueStrips; ++s) {
      UNROLLED
      for (uint j = 0; j < kOwnValueBlocks; ++j) {
        out[s][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      }
    }

    const float scale = scale_to_base_two();
    const uint keys_end = end;
    begin = max(begin, sight.first(first_query) / kKeys * kKeys);
    end = sight.end(first_query + kQueries - 1, keys_end);
    Passing<K, Strip> keys(k, begin, dims, place.thread_index);
    Passing<V, kValueStrip> values(v, begin, value_dims, place.thread_index);
    keys.expect(0, is_last(0));
    for (uint first = begin; first < end; first += kKeys) {
      simdgroup_float8x8 sums[kOwnKeyBlocks];
      UNROLLED
      for (uint c = 0; c < kOwnKeyBlocks; ++c) {
        sums[c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
      }
      if (kQueriesInMemory) {
        ROLLED
        for (uint s = 0; s < kStrips && has_strip(s); ++s) {
          put_keys(keys, values, s);
          add_scores<kPitch, kQueryPitch, kStripBlocks>(sums, own_rows() + begin_of(s), blocks(s),
                                                        own_keys());
          store_scores(sums, s);
        }
      } else {
        UNROLLED
        for (uint s = 0; s < kStrips; ++s) {
          if (has_strip(s)) {
            put_keys(keys, values, s);
            add_scores<kPitch>(sums, query[s], blocks(s), own_keys());
            store_scores(sums, s);
          }
        }
      }
      float shrink = 1.0f;
      UNROLLED
      for (uint s = 0; s < kValueStrips; ++s) {
        if (has_value_strip(s)) {
          values.put(tile_rows(), begin_of(s), is_last_value(s));
          if (s == 0 && own_split() == 0) {
            shrink = update(softmax, scale, first, keys_end);
          }
          threadgroup_barrier(mem_flags::mem_threadgroup);
          if (s == 0 && Splits > 1) {
            shrink = *correction();
          }
          if (is_last_value(s)) {
            keys.expect(0, is_last(0));
          } else {
            values.expect(begin_of(s + 1), is_last_value(s + 1));
          }
          if (simd_any(shrink != 1.0f)) {
            rescale_rows(out[s], value_blocks(s), diagonal());
          }
          gather_values<kPitch, kScorePitch, kKeys>(out[s], value_blocks(s), own_values(),
                                                    own_scores());
          threadgroup_barrier(mem_flags::mem_threadgroup);
        }
      }
    }
  }
  // A strip of a block of keys into the tile; what follows is on its way.
  template <typename Keys, typename Values>
  INLINED void put_keys(thread Keys& keys, thread Values& values, uint strip) const {
    keys.put(tile_rows(), begin_of(strip), is_last(strip));
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (is_last(strip)) {
      values.expect(0, is_last_value(0));
    } else {
      keys.expect(begin_of(strip + 1), is_last(strip + 1));
    }
  }

  // Scores behind the last strip; the tile may be used again.
  INLINED void store_scores(thread const simdgroup_float8x8 (&sums)[kOwnKeyBlocks],
                            uint strip) const {
    if (is_last(strip)) {
      UNROLLED
      for (uint c = 0; c < kOwnKeyBlocks; ++c) {
        simdgroup_store(sums[c], own_scores() + own_key() + 8 * c, kScorePitch);
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }

  // Stores the output of the SIMD-group.
  template <typename Y>
  INLINED void store(thread const Output& out, Head<Y> y) const {
    threadgroup float* part = (threadgroup float*)&memory + 256 * place.simdgroup;
    UNROLLED
    for (uint s = 0; s < kValueStrips; ++s) {
      if (has_value_strip(s)) {
        store_eight_rows(out[s], value_blocks(s), part, y, first_query + 8 * own_eight(),
                         begin_of(s) + 8 * own_value_block(), value_dims, place.lane);
      }
    }
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
