// Causal attention to a window of tokens with soft-capping, as in Gemma 2: scores s become
// cap tanh(s / cap) where they are, between the two products of a block of keys
// (metalbench/attention.h), so that no matrix of scores is made. A window as long as the text is
// none. Heads are up to 256 dims wide and pass in strips of 128.
// dispatch: sdpa_softcap  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 2, 1
// tune: SPLITS = 4, 2
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/sights.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_softcap(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& tokens, constant uint& dims,
    constant float& cap, constant uint& width, uint2 group [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Sight = CappedSight<WindowSight>;
  using Flash = SightedAttention<DTYPE, SG, 256, Sight, 256, SPLITS, AHEAD, 128>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE,
                        Sight{WindowSight{width}, cap, precise::sqrt(float(dims))});
  const ulong own = ulong(group.y) * tokens * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * tokens * dims;
  attention.attend({q + own, tokens, dims}, {k + shared, tokens, dims}, {v + shared, tokens, dims},
                   {y + own, tokens, dims});
}
