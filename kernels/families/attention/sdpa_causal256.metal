// Causal attention of heads that are wider than a tile of threadgroup memory: one pass of
// metalbench/attention.h a head, in which keys and values pass in strips of 128 dims. Several
// SIMD-groups split eight queries, as one would not have the registers for their results.
// dispatch: sdpa_causal256  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 2, 1
// tune: SPLITS = 4, 2
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_causal256(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 256, Seen<true>, 256, SPLITS, AHEAD, 128>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE);
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims});
}
