// Attention of one query a head over a cache in pages, as servers of many texts keep it: a row of a
// table says which pages are a text's. Spans of the keys first, each for all heads that share them,
// then what the spans have left (metalbench/split_decode.h). No page is moved; rows of a page lie
// side by side for each kv head, and a text's last page is read as far as it has keys.
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), texts * kv_heads, ceil_div(most * page, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(texts * heads)  threads=(256)
// scratch: partial float32 (texts * heads, ceil_div(most * page, SPAN), dims)
// scratch: level float32 (texts * heads, ceil_div(most * page, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// defaults: cuda SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/paged_cache.h"
#include "metalbench/split_decode.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const uint* table,
    device const uint* keys, device float* partial, device float* level, constant uint& heads,
    constant uint& kv_heads, constant uint& most, constant uint& page, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads;
  const uint spans = (most * page + SPAN - 1) / SPAN;
  const uint text = group.y / kv_heads;
  const ulong rows = ulong(group.y % kv_heads) * page * dims;
  const ulong own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  const PagedCache<DTYPE> cache = {
      {k + rows, table + ulong(text) * most, Divisor::of(page), kv_heads * page * dims, dims}, v + rows};
  decode.walk(cache, group.z * SPAN, min(keys[text], (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level;
  decode.store({partial + own * spans * dims, levels + own * spans, spans, dims}, group.z,
               group.x * SHARED, shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& most,
    constant uint& page, constant uint& dims, uint query [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  const uint spans = (most * page + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
