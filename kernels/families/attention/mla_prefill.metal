// Causal attention whose queries and keys are wider than its values: 192 and 128 dims where latent
// attention is computed head by head. One pass of metalbench/attention.h a head; a block of keys
// and one of values pass through the same tile of threadgroup memory, whose rows fit the wider.
// dispatch: mla_prefill  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// defaults: cuda SPLITS = 2
// defaults: cuda float32 AHEAD = 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 192, value_dims <= 128
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void mla_prefill(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& tokens, constant uint& dims, constant uint& value_dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 192, Seen<true>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE, Seen<true>{0}, value_dims);
  const ulong wide = ulong(group.y) * tokens * dims;
  const ulong narrow = ulong(group.y) * tokens * value_dims;
  attention.attend({q + wide, tokens, dims}, {k + wide, tokens, dims},
                   {v + narrow, tokens, value_dims}, {y + narrow, tokens, value_dims});
}
