// Causal attention of several texts that lie one behind the other in one array, without padding: a
// threadgroup finds which text its block of queries belongs to (metalbench/packed_texts.h) and
// attends to the keys of that text only, in one pass of metalbench/attention.h.
// dispatch: sdpa_varlen  threadgroups=(ceil_div(tokens, 8 * SG) + texts, heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/packed_texts.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_varlen(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const uint* starts,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& texts,
    constant uint& dims, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, Seen<true>, 128, SPLITS, AHEAD>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const TextBlock at = find_text_block<8 * SG>(starts, texts, group.x);
  if (at.text == texts) {
    return;
  }
  const Flash attention(memory, dims, at.block, PLACE);
  const uint pitch = heads * dims, kv_pitch = kv_heads * dims;
  const ulong own = ulong(at.begin) * pitch + group.y * dims;
  const ulong shared = ulong(at.begin) * kv_pitch + group.y / (heads / kv_heads) * dims;
  attention.attend({q + own, at.tokens, pitch}, {k + shared, at.tokens, kv_pitch},
                   {v + shared, at.tokens, kv_pitch}, {y + own, at.tokens, pitch});
}
