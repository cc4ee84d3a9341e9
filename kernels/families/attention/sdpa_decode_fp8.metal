// Attention of one query a head over a cache of E4M3 with a scale for each head of keys and of
// values: spans of the keys first, each for all heads that share them (metalbench/split_decode.h).
// A lane has a word of four codes of a row, whose bits become those of halves, so that a cache of
// bytes is read once and is never in memory as floats.
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), kv_heads, ceil_div(keys, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads)  threads=(256)
// scratch: partial float32 (heads, ceil_div(keys, SPAN), dims)
// scratch: level float32 (heads, ceil_div(keys, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// defaults: cuda SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, dims % 4 == 0, heads % kv_heads == 0
#include "metalbench/quantised_cache.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const uchar* k, device const DTYPE* k_scales,
    device const uchar* v, device const DTYPE* v_scales, device float* partial, device float* level,
    constant uint& heads, constant uint& kv_heads, constant uint& keys, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads, spans = (keys + SPAN - 1) / SPAN;
  const ulong first = ulong(group.y) * keys * dims, own = ulong(group.y) * shared;
  const Fp8Cache cache = {{(device const uint*)(k + first), float(k_scales[group.y]), dims},
                          {(device const uint*)(v + first), float(v_scales[group.y]), dims}};
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  decode.walk(cache, group.z * SPAN, min(keys, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level + own * spans;
  decode.store({partial + own * spans * dims, levels, spans, dims}, group.z, group.x * SHARED,
               shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& keys,
    constant uint& dims, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (keys + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
