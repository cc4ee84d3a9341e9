// Attention of one query a head over a cache of 4 or 8 bits with a scale and a bias for 64 codes:
// spans of the keys first, each for all heads that share them, then what the spans have left
// (metalbench/split_decode.h). Codes become floats in registers (metalbench/quantised_cache.h), so
// that the bytes that are read are a quarter or half of those of a cache of halves.
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), kv_heads, ceil_div(keys, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads)  threads=(256)
// scratch: partial float32 (heads, ceil_div(keys, SPAN), dims)
// scratch: level float32 (heads, ceil_div(keys, SPAN), 2)
// instance: q4 BITS = 4
// instance: q8 BITS = 8
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
    constant uint& kv_heads, constant uint& keys, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  using Format = WholeNumbers<DTYPE, BITS, 64>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads;
  const uint spans = (keys + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * keys, own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  const Weights<Format> all_k = {k, {k_scales, k_biases}, dims};
  const Weights<Format> all_v = {v, {v_scales, v_biases}, dims};
  const QuantisedCache<Format> cache = {all_k.from_row(rows), all_v.from_row(rows)};
  decode.walk(cache, group.z * SPAN, min(keys, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level;
  decode.store({partial + own * spans * dims, levels + own * spans, spans, dims}, group.z,
               group.x * SHARED, shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& keys,
    constant uint& dims, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (keys + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
