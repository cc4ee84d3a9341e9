// Blocks of new tokens of several texts over caches in pages that hold them and what came before,
// as servers read prompts piece by piece: queries lie one text behind the other
// (metalbench/packed_texts.h), and a row of a table says which pages are a text's
// (metalbench/paged_cache.h). No page is moved: its rows pass into the tile of
// metalbench/attention.h.
// dispatch: sdpa_prefix_paged  threadgroups=(ceil_div(tokens, 8 * SG) + texts, heads)  threads=(32 * SG * SPLITS)
// tune: SG = 4, 1, 2
// tune: SPLITS = 1, 2
// dtypes: float32, float16, bfloat16
// limits: dims <= 128, heads % kv_heads == 0
#include "metalbench/attention.h"
#include "metalbench/packed_texts.h"
#include "metalbench/paged_cache.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SG * SPLITS)]] void sdpa_prefix_paged(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const uint* table,
    device const uint* starts, device const uint* before, device DTYPE* y, constant uint& heads,
    constant uint& kv_heads, constant uint& texts, constant uint& most, constant uint& page,
    constant uint& dims, uint2 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, SG, 128, Seen<true>, 128, SPLITS>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const TextBlock at = find_text_block<8 * SG>(starts, texts, group.x);
  if (at.text == texts) {
    return;
  }
  const uint earlier = before[at.text];
  const Flash attention(memory, dims, at.block, PLACE, Seen<true>{earlier});
  const uint pitch = heads * dims;
  const ulong own = ulong(at.begin) * pitch + group.y * dims;
  const ulong shared = ulong(group.y / (heads / kv_heads)) * page * dims;
  const Pages<DTYPE> keys = {k + shared, table + ulong(at.text) * most, Divisor::of(page),
                             kv_heads * page * dims, dims};
  const Pages<DTYPE> values = {v + shared, keys.table, keys.page, keys.pitch, dims};
  attention.attend(Head<const DTYPE>{q + own, at.tokens, pitch},
                   PagedRows<DTYPE>{keys, earlier + at.tokens},
                   PagedRows<DTYPE>{values, earlier + at.tokens},
                   Head<DTYPE>{y + own, at.tokens, pitch});
}
