// Attention with a learnt bias for each distance: one pass of metalbench/attention.h a head. The
// bias of a head has 2 tokens - 1 elements and stays in the cache; four neighbouring keys take four
// neighbouring elements of it. No matrix of biases is ever made.
// dispatch: sdpa_bias_relpos  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda float32 AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_bias_relpos(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* bias,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& tokens,
    constant uint& dims, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, DistanceBias<DTYPE>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(
      memory, dims, group.x, PLACE,
      DistanceBias<DTYPE>{bias + group.y * (2 * tokens - 1), tokens, precise::sqrt(float(dims))});
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims});
}
