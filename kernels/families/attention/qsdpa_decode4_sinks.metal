// Attention of one query a head over the last keys of a 4-bit cache, with a logit of each head's
// own that has no value: it joins the sum of weights where the spans' results are joined
// (metalbench/split_decode.h), once and not in every span. Keys before the window are not read.
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), kv_heads, ceil_div(min(keys, window), SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads)  threads=(256)
// scratch: partial float32 (heads, ceil_div(min(keys, window), SPAN), dims)
// scratch: level float32 (heads, ceil_div(min(keys, window), SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// defaults: cuda SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, dims % 64 == 0, heads % kv_heads == 0, keys * dims / 4 <= 4294967295
#include "metalbench/quantised_cache.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const uint* k, device const DTYPE* k_scales,
    device const DTYPE* k_biases, device const uint* v, device const DTYPE* v_scales,
    device const DTYPE* v_biases, device float* partial, device float* level, constant uint& heads,
    constant uint& kv_heads, constant uint& keys, constant uint& dims, constant uint& window,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  using Format = WholeNumbers<DTYPE, 4, 64>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads;
  const uint start = keys - min(keys, window);
  const uint spans = (keys - start + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * keys, own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  const Weights<Format> all_k = {k, {k_scales, k_biases}, dims};
  const Weights<Format> all_v = {v, {v_scales, v_biases}, dims};
  const QuantisedCache<Format> cache = {all_k.from_row(rows), all_v.from_row(rows)};
  decode.walk(cache, start + group.z * SPAN, min(keys, start + (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level;
  decode.store({partial + own * spans * dims, levels + own * spans, spans, dims}, group.z,
               group.x * SHARED, shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device const DTYPE* sinks,
    device DTYPE* y, constant uint& keys, constant uint& dims, constant uint& window,
    uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (min(keys, window) + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE, kLog2E * float(sinks[query]));
}
