// Causal attention, heads sharing keys, with Metal 4's matmul2d: one pass of
// metalbench/tensor_attention.h a head, 16 queries a SIMD-group. Each SIMD-group ends at the last key
// that one of its queries sees. Threadgroups of one head follow each other, so that its keys and
// values stay in the cache.
// dispatch: sdpa_causal  threadgroups=(ceil_div(tokens, 16 * SG), heads)  threads=(32 * SG)
// tune: SG = 4, 1, 2, 8
// tune: STAGED = 0, 1
// defaults: cuda float16 bfloat16 SG = 8, STAGED = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
// std: metal4.0
// preferred: m5
// preferred: h100 float16 bfloat16
// preferred: h200 float16 bfloat16
#include "metalbench/tensor_attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG)]] void sdpa_causal(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]],
    uint simdgroup [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
  using Prefill = PrefillAttention<DTYPE, true, SG, STAGED>;
  threadgroup Prefill::Memory memory;
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  // The last queries see the most keys, so they begin first.
  const uint first = 16 * SG * (groups.x - 1 - group.x);
  Prefill::attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                  {y + own, tokens, dims}, dims, first, simdgroup, lane, memory);
}
