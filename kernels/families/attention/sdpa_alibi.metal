// Causal attention whose scores fall with the distance: one pass of metalbench/attention.h a head.
// What is subtracted is computed where the score is, from the two positions: a matrix of biases, as
// large as that of the scores, is neither made nor read.
// dispatch: sdpa_alibi  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_alibi(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* slope,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& tokens,
    constant uint& dims, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, SlopeBias, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE,
                        SlopeBias{float(slope[group.y]), precise::sqrt(float(dims))});
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims});
}
