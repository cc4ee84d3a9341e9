// Proposed tokens that form a tree, over a cache that holds them and the text before: a token sees
// all of the text and those of the tree that it goes on from. One pass of metalbench/attention.h a
// head; the mask is asked for keys of the tree only, at most 64 of what may be thousands.
// dispatch: sdpa_tree  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_tree(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const bool* mask,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& tokens,
    constant uint& before, constant uint& dims, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, TreeSight, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE, TreeSight{mask, tokens, before});
  const uint keys = before + tokens;
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * keys * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, keys, dims}, {v + shared, keys, dims},
                   {y + own, tokens, dims});
}
