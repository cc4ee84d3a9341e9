// A block of new tokens over a cache that holds them and what came before: token t sees the keys up
// to its own. One pass of metalbench/attention.h a head. Queries and output lie as a projection
// leaves them, token by token; rows of the cache behind its keys are not read.
// dispatch: sdpa_prefix_block  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda float32 SPLITS = 2, AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_prefix_block(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& before,
    constant uint& spare, constant uint& dims, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, Seen<true>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE, Seen<true>{before});
  const uint keys = before + tokens, pitch = heads * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * (keys + spare) * dims;
  attention.attend({q + group.y * dims, tokens, pitch}, {k + shared, keys, dims},
                   {v + shared, keys, dims}, {y + group.y * dims, tokens, pitch});
}
