// Causal attention of heads of up to 512 dims: one pass of metalbench/attention.h a head. Eight
// queries stay in threadgroup memory, keys and values pass in strips of 64 dims.
// Several SIMD-groups split the queries, as one would not have the registers for their results.
// dispatch: sdpa_causal512  threadgroups=(ceil_div(tokens, 8), heads)  threads=(32 * SPLITS)
// tune: SPLITS = 2, 1
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 512, heads % kv_heads == 0
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SPLITS)]] void sdpa_causal512(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, 1, 512, Seen<true>, 512, SPLITS, AHEAD, 64>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE);
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  // check: allow register-spill results of 512 dims; keys and values of halves take half as many
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims});
}
