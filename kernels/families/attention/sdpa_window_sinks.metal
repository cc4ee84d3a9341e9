// Causal attention to a window of tokens with a logit of each head's own that has no value: one
// pass of metalbench/attention.h a head, whose online softmax begins with the logit, and which
// begins at the first block of keys that any of a threadgroup's queries sees.
// dispatch: sdpa_window_sinks  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_window_sinks(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* sinks,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& tokens,
    constant uint& dims, constant uint& width, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, WindowSight, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE, WindowSight{width});
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims}, float(sinks[group.y]));
}
