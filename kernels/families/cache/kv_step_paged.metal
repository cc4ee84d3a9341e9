// A step of decoding of several texts with caches in pages, in place: each text's new keys and values
// go into the row behind its last one first, then its queries attend to all of its rows, in spans
// (metalbench/split_decode.h), and what the spans have left is joined. How many rows a text has is
// in memory: spans behind them leave nothing.
// inout: k, v
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), kv_heads, texts)  threads=(32, 4, 1)
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), texts * kv_heads, ceil_div(most * page, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(texts * heads)  threads=(256)
// scratch: partial float32 (texts * heads, ceil_div(most * page, SPAN), dims)
// scratch: level float32 (texts * heads, ceil_div(most * page, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/paged_cache.h"
#include "metalbench/split_decode.h"
using namespace metalbench;

[[kernel]] void place(device DTYPE* k, device DTYPE* v, device const DTYPE* k_new,
                      device const DTYPE* v_new, device const uint* table,
                      device const uint* before, constant uint& kv_heads, constant uint& most,
                      constant uint& page, constant uint& dims,
                      uint3 at [[thread_position_in_grid]]) {
  const uint row = before[at.z];
  const ulong from = (ulong(at.z) * kv_heads + at.y) * dims;
  const ulong in_page = ulong(table[at.z * most + row / page]) * kv_heads + at.y;
  const ulong to = (in_page * page + row % page) * dims;
  store_quad(k + to, 4 * at.x, dims, load_quad(k_new + from, 4 * at.x, dims));
  store_quad(v + to, 4 * at.x, dims, load_quad(v_new + from, 4 * at.x, dims));
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const uint* table,
    device const uint* before, device float* partial, device float* level, constant uint& heads,
    constant uint& kv_heads, constant uint& most, constant uint& page, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads, text = group.y / kv_heads;
  const uint spans = (most * page + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y % kv_heads) * page * dims, own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  const PagedCache<DTYPE> cache = {
      {k + rows, table + ulong(text) * most, Divisor::of(page), kv_heads * page * dims, dims}, v + rows};
  decode.walk(cache, group.z * SPAN, min(before[text] + 1, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level + own * spans;
  decode.store({partial + own * spans * dims, levels, spans, dims}, group.z, group.x * SHARED,
               shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& most,
    constant uint& page, constant uint& dims, uint query [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  const uint spans = (most * page + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
