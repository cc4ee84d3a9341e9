// Attention, causal or not, that also stores each query's log-sum-exp of scaled scores, for
// sdpa_causal_gradient: one pass of metalbench/attention.h a head, whose online softmax has the
// number already.
// dispatch: attend  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda float32 SPLITS = 2, AHEAD = 1
// instance: causal CAUSAL = 1
// instance: bidirectional CAUSAL = 0
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    device float* lse, constant uint& heads, constant uint& kv_heads, constant uint& tokens,
    constant uint& dims, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, Seen<CAUSAL>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE);
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims}, -INFINITY, lse + ulong(group.y) * tokens);
}
