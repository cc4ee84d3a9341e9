// A block of new tokens over a cache of 4 or 8 bits that holds them and what came before: token t
// sees the keys up to its own. Codes become elements on their way into the tile of
// metalbench/attention.h (metalbench/quantised_cache.h), so that no cache of floats is ever in
// memory. Queries and output lie as a projection leaves them, token by token.
// dispatch: qsdpa_prefix_block  threadgroups=(ceil_div(tokens, 8 * SG), heads)  threads=(32 * SG * SPLITS)
// instance: q4 BITS = 4
// instance: q8 BITS = 8
// tune: SG = 2, 1
// tune: SPLITS = 4, 2
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, dims % 64 == 0, heads % kv_heads == 0, (before + tokens) * dims / 4 <= 4294967295
#include "metalbench/attention.h"
#include "metalbench/quantised_cache.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void qsdpa_prefix_block(
    device const DTYPE* q, device const uint* k, device const DTYPE* k_scales,
    device const DTYPE* k_biases, device const uint* v, device const DTYPE* v_scales,
    device const DTYPE* v_biases, device DTYPE* y, constant uint& heads, constant uint& kv_heads,
    constant uint& tokens, constant uint& before, constant uint& dims,
    uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 256, Seen<true>, 256, SPLITS, false, 128>;
  using Format = WholeNumbers<DTYPE, BITS, 64>;
  using Rows = QuantisedRows<Format, DTYPE>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const Flash attention(memory, dims, group.x, PLACE, Seen<true>{before});
  const uint keys = before + tokens, pitch = heads * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * keys;
  const Weights<Format> all_k = {k, {k_scales, k_biases}, dims};
  const Weights<Format> all_v = {v, {v_scales, v_biases}, dims};
  attention.attend(Head<const DTYPE>{q + group.y * dims, tokens, pitch},
                   Rows{all_k.from_row(shared), keys}, Rows{all_v.from_row(shared), keys},
                   Head<DTYPE>{y + group.y * dims, tokens, pitch});
}
