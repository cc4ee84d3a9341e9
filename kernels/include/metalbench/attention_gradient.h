// The gradient of attention without stored scores. With weights P = exp(scale Q K^T - lse), from
// the logarithm of each query's sum of exponentials that the forward pass stored, and the row sums
// D of dO * O: dV = P^T dO, dS = P (dO V^T - D), dQ = scale dS K and dK = scale dS^T Q (Dao et al.,
// "FlashAttention", 2022). A threadgroup owns rows, of keys and values or of Q and dO, and the rows
// of the other side pass in blocks through threadgroup memory, so that each sum has one owner and
// one order, without atomics. Two SIMD-groups share eight rows, because one has too few registers:
// the first has their rows of K or Q and multiplies scores, the second has those of V or dO. Then
// the first adds to dK and the second to dV, or each to a half of the dims of dQ.
#pragma once
#include <metal_simdgroup_matrix>
#include <metal_stdlib>

#include "metalbench/attention_products.h"
#include "metalbench/attention_rows.h"
#include "metalbench/inlined.h"
#include "metalbench/reduce.h"

namespace metalbench {

using namespace metal;

// The lse and D of a head's queries.
struct QuerySums {
  device const float* lse;
  device const float* products;
};

// `OfKeys`: rows of keys and values are owned, and queries pass, Pass at a time.
template <typename T, uint Eights, uint MaxDims, uint Pass, bool Causal, bool OfKeys>
struct AttentionGradient {
  static constant constexpr uint kThreads = 64 * Eights;
  static constant constexpr uint kRows = 8 * Eights;
  static constant constexpr uint kMaxBlocks = MaxDims / 8;
  static constant constexpr uint kMaxSums = OfKeys ? kMaxBlocks : kMaxBlocks / 2;
  static constant constexpr uint kPitch = MaxDims + 16 / sizeof(T);
  static constant constexpr uint kScorePitch = Pass + 4;
  // Of eight rows of scores, the quads of a lane.
  static constant constexpr uint kLaneQuads = Pass / 16;
  static_assert(MaxDims % 64 == 0 && Pass % 16 == 0, "halves are steps, and lanes have quads");
  static_assert(kRows <= 2 * Pass, "owned rows come through the memory of those that pass");

  using Passing = PassingRows<T, Pass, MaxDims, kPitch, kThreads>;
  using Owned = PassingRows<T, kRows, MaxDims, kPitch, kThreads>;
  using Matrices = simdgroup_matrix<T, 8, 8>[kMaxBlocks];
  using Sums = simdgroup_float8x8[kMaxSums];

  struct Memory {
    float4 tiles[2][Pass * kPitch * sizeof(T) / sizeof(float4)];
    float4 scores[2][Eights][8 * kScorePitch / 4];
  };
  static_assert(sizeof(Memory) >= 2048 * Eights, "a SIMD-group stores through 1 KiB");

  threadgroup Memory& memory;
  uint dims;
  uint first;  // row of the threadgroup
  Place place;

  uint blocks() const { return (dims + 7) / 8; }
  uint own_eight() const { return place.simdgroup % Eights; }
  // 0 for the SIMD-group of scores, 1 for that of dO V^T.
  uint role() const { return place.simdgroup / Eights; }
  uint own_row() const { return first + 8 * own_eight() + place.lane / 4; }
  // The blocks of dims that this SIMD-group sums up, from which one on.
  uint first_sum() const { return OfKeys ? 0 : role() * kMaxSums; }
  uint sum_blocks() const { return max(blocks(), first_sum()) - first_sum(); }
  threadgroup T* tile(uint i) const { return (threadgroup T*)memory.tiles[i]; }
  threadgroup float* scores(uint i) const {
    return (threadgroup float*)memory.scores[i][own_eight()];
  }

  // The owned rows of `a` for the first SIMD-groups, and of `b` for the second ones.
  INLINED void load(thread Matrices& to, Head<const T> a, Head<const T> b) const {
    ROLLED
    for (uint i = 0; i < 2; ++i) {
      Owned({i == 0 ? a.data : b.data, a.rows, a.pitch}, first, dims, place.thread_index)
          .put(tile(0));
      threadgroup_barrier(mem_flags::mem_threadgroup);
      if (role() == i) {
        UNROLLED
        for (uint j = 0; j < kMaxBlocks; ++j) {
          if (j / kAttentionStep * kAttentionStep < blocks()) {
            // check: allow registers owned rows stay in registers over all rows that pass
            simdgroup_load(to[j], tile(0) + 8 * own_eight() * kPitch + 8 * j, kPitch);
          }
        }
      }
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  // Raw scores and products dO V^T of eight owned rows become P for the second SIMD-group of keys,
  // and dS for all others: elements of T in the place of the SIMD-group's own, as gather_values
  // takes them. What is out of sight or past the last row is zero.
  INLINED void weigh(QuerySums sums, uint first_passing, uint rows) const {
    const float scale = precise::rsqrt(float(dims));
    const uint column = 4 * kLaneQuads * (place.lane % 4);
    const uint at = place.lane / 4 * (kScorePitch / 4) + column / 4;
    float4 raw[kLaneQuads], products[kLaneQuads];
    UNROLLED
    for (uint i = 0; i < kLaneQuads; ++i) {
      raw[i] = ((threadgroup const float4*)scores(0))[at + i];
      products[i] = ((threadgroup const float4*)scores(1))[at + i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    UNROLLED
    for (uint i = 0; i < kLaneQuads; ++i) {
      float4 result;
      UNROLLED
      for (uint j = 0; j < 4; ++j) {
        const uint passing = first_passing + column + 4 * i + j;
        const uint query = OfKeys ? passing : own_row();
        const uint key = OfKeys ? own_row() : passing;
        const bool is_seen = max(query, key) < rows && (!Causal || key <= query);
        const uint there = min(query, rows - 1);
        const float p = is_seen ? precise::exp(raw[i][j] * scale - sums.lse[there]) : 0.0f;
        const float ds = p * (products[i][j] - sums.products[there]);
        result[j] = OfKeys && role() == 1 ? p : ds;
      }
      // Eight elements of T begin where their eight floats did.
      const uint quad = column / 4 + i;
      const uint begin = place.lane / 4 * kScorePitch + quad / 2 * 8;
      ((threadgroup Quad<T>*)(scores(role()) + begin))[quad % 2] = Quad<T>(result);
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }

  // Adds what rows of `a` and `b` from `begin` to `end` contribute: Q and dO, or K and V.
  INLINED void add(thread Sums& to, thread const Matrices& own, Head<const T> a, Head<const T> b,
                   uint begin, uint end, QuerySums sums) const {
    Passing rows_a(a, begin, dims, place.thread_index);
    Passing rows_b(b, begin, dims, place.thread_index);
    for (uint at = begin; at < end; at += Pass) {
      rows_a.put(tile(0));
      rows_b.put(tile(1));
      threadgroup_barrier(mem_flags::mem_threadgroup);
      score_keys<kPitch, kScorePitch, Pass / 8>(own, blocks(), tile(role()), scores(role()));
      threadgroup_barrier(mem_flags::mem_threadgroup);
      weigh(sums, at, a.rows);
      threadgroup const T* rows = OfKeys ? tile(role()) : tile(0) + 8 * first_sum();
      gather_values<kPitch, kScorePitch, Pass>(to, sum_blocks(), rows, scores(role()));
      threadgroup_barrier(mem_flags::mem_threadgroup);
    }
  }

  INLINED void store(thread const Sums& sums, Head<T> to, float factor) const {
    threadgroup float* strip = (threadgroup float*)&memory + 256 * place.simdgroup;
    store_eight_rows(sums, sum_blocks(), strip, to, first + 8 * own_eight(), 8 * first_sum(), dims,
                     place.lane, factor);
  }
};

template <uint MaxBlocks>
INLINED inline void clear_sums(thread simdgroup_float8x8 (&sums)[MaxBlocks]) {
  UNROLLED
  for (uint j = 0; j < MaxBlocks; ++j) {
    sums[j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
}

// The arrays of attention's gradient: q and dy (heads, tokens, dims); k and v of kv_heads, each
// shared by as many heads; lse and products (heads, tokens).
template <typename T>
struct GradientArrays {
  device const T* q;
  device const T* k;
  device const T* v;
  device const T* dy;
  device const float* lse;
  device const float* products;
  uint heads;
  uint kv_heads;
  uint tokens;
  uint dims;

  uint sharing() const { return heads / kv_heads; }
  ulong offset(uint head) const { return ulong(head) * tokens * dims; }
  Head<const T> rows(device const T* data) const { return {data, tokens, dims}; }
};

// dK and dV of a threadgroup's keys, of all heads that share them.
template <uint Eights, uint MaxDims, uint Pass, bool Causal, typename T>
INLINED inline void store_key_gradients(
    GradientArrays<T> of, device T* dk, device T* dv, uint2 group,
    threadgroup typename AttentionGradient<T, Eights, MaxDims, Pass, Causal, true>::Memory& memory,
    Place place) {
  using Gradient = AttentionGradient<T, Eights, MaxDims, Pass, Causal, true>;
  const Gradient gradient = {memory, of.dims, group.x * Gradient::kRows, place};
  const ulong shared = of.offset(group.y);
  typename Gradient::Matrices own;
  gradient.load(own, of.rows(of.k + shared), of.rows(of.v + shared));
  typename Gradient::Sums sums;
  clear_sums(sums);
  const uint begin = Causal ? gradient.first / Pass * Pass : 0;
  const uint head = group.y * of.sharing();
  const ulong pitch = of.offset(1);
  device const T* q = of.q + of.offset(head);
  device const T* dy = of.dy + of.offset(head);
  QuerySums queries = {of.lse + ulong(head) * of.tokens, of.products + ulong(head) * of.tokens};
  for (uint i = 0; i < of.sharing(); ++i) {
    gradient.add(sums, own, of.rows(q), of.rows(dy), begin, of.tokens, queries);
    q += pitch;
    dy += pitch;
    queries.lse += of.tokens;
    queries.products += of.tokens;
  }
  const bool is_key = gradient.role() == 0;
  gradient.store(sums, {(is_key ? dk : dv) + shared, of.tokens, of.dims},
                 is_key ? precise::rsqrt(float(of.dims)) : 1.0f);
}

// dQ of a threadgroup's queries.
template <uint Eights, uint MaxDims, uint Pass, bool Causal, typename T>
INLINED inline void store_query_gradients(
    GradientArrays<T> of, device T* dq, uint2 group,
    threadgroup typename AttentionGradient<T, Eights, MaxDims, Pass, Causal, false>::Memory& memory,
    Place place) {
  using Gradient = AttentionGradient<T, Eights, MaxDims, Pass, Causal, false>;
  const Gradient gradient = {memory, of.dims, group.x * Gradient::kRows, place};
  const ulong head = of.offset(group.y), shared = of.offset(group.y / of.sharing());
  typename Gradient::Matrices own;
  gradient.load(own, of.rows(of.q + head), of.rows(of.dy + head));
  typename Gradient::Sums sums;
  clear_sums(sums);
  const uint end = Causal ? min(of.tokens, gradient.first + Gradient::kRows) : of.tokens;
  const ulong query = ulong(group.y) * of.tokens;
  gradient.add(sums, own, of.rows(of.k + shared), of.rows(of.v + shared), 0, end,
               {of.lse + query, of.products + query});
  gradient.store(sums, {dq + head, of.tokens, of.dims}, precise::rsqrt(float(of.dims)));
}

// The sum of dO * O of one row, by a SIMD-group.
template <typename T>
INLINED inline float product_sum(device const T* y, device const T* dy, uint dims, uint lane) {
  float4 sum = 0.0f;
  for (uint column = 4 * lane; column < dims; column += 128) {
    sum = fma(load_quad(y, column, dims), load_quad(dy, column, dims), sum);
  }
  return simd_sum(total(sum));
}

}  // namespace metalbench
