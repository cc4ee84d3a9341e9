// Self-attention of whole models, whose queries, keys and values are one matrix (sequences *
// tokens, 3 * dims): those of all heads behind each other, as one linear layer makes them. A head
// is a slice of columns, so nothing is moved. Needs
//   dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads, sequences)
//                     threads=(32 * SG * SPLITS)
#pragma once
#include "metalbench/attention.h"

namespace metalbench {

// The slices of one head of one sequence, whose first element is at `row` and `column` of columns.
struct MergedHead {
  Head<const float> q;
  Head<const float> k;
  Head<const float> v;
  Head<float> y;

  // Of head group.y of `heads` of sequence group.z; y is (sequences * tokens, dims).
  static MergedHead of(device const float* qkv, device float* y, uint tokens, uint dims, uint heads,
                       uint3 group) {
    const ulong row = ulong(group.z) * tokens;
    const uint column = dims / heads * group.y;
    device const float* first = qkv + row * 3 * dims + column;
    return {{first, tokens, 3 * dims},
            {first + dims, tokens, 3 * dims},
            {first + 2 * dims, tokens, 3 * dims},
            {y + row * dims + column, tokens, dims}};
  }
};

// Attention as a SightedAttention of float has it, Flash, for block group.x of the queries.
template <typename Flash>
INLINED void attend_merged(threadgroup typename Flash::Memory& memory, MergedHead head, uint width,
                           uint block, Place place) {
  const Flash attention(memory, width, block, place);
  attention.attend(head.q, head.k, head.v, head.y);
}

// The same of one query where keys are few, by a SIMD-group whose lanes have four dims each: up to
// 128. Its sum over dims is a number of all lanes, so that a block of queries would gain nothing.
INLINED inline void attend_few(MergedHead head, uint query, uint width, uint lane) {
  const uint column = 4 * lane;
  const float scale = precise::rsqrt(float(width));
  const float4 q = load_quad(head.q.data + ulong(query) * head.q.pitch, column, width) * scale;
  float level = -INFINITY, sum = 0.0f;
  float4 out = 0.0f;
  for (uint key = 0; key < head.k.rows; ++key) {
    const ulong at = ulong(key) * head.k.pitch;
    const float score = simd_sum(total(q * load_quad(head.k.data + at, column, width)));
    const float higher = max(level, score);
    const float shrink = precise::exp(level - higher), weight = precise::exp(score - higher);
    sum = fma(sum, shrink, weight);
    out = fma(out, shrink, weight * load_quad(head.v.data + at, column, width));
    level = higher;
  }
  store_quad(head.y.data + ulong(query) * head.y.pitch, column, width, out / sum);
}

}  // namespace metalbench
