// A step of decoding with its caches of 4 or 8 bits, in place: the new key and value of each head
// become codes, a scale and a bias for each group of 64 first (metalbench/quantise.h), then the
// query attends to all rows up to theirs, in spans, as codes that become floats in registers
// (metalbench/quantised_cache.h). Spans behind the position, which is in memory, leave nothing.
// inout: k, k_scales, k_biases, v, v_scales, v_biases
// dispatch: place  threads_in_grid=(ceil_div(kv_heads * dims, 128) * 32)  threads=(32)
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), kv_heads, ceil_div(length, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads)  threads=(256)
// scratch: partial float32 (heads, ceil_div(length, SPAN), dims)
// scratch: level float32 (heads, ceil_div(length, SPAN), 2)
// instance: q4 BITS = 4
// instance: q8 BITS = 8
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, dims % 64 == 0, heads % kv_heads == 0, length * dims / 4 <= 4294967295
#include "metalbench/quantise.h"
#include "metalbench/quantised_cache.h"
using namespace metalbench;

[[kernel]] void place(device uint* k, device DTYPE* k_scales, device DTYPE* k_biases,
                      device uint* v, device DTYPE* v_scales, device DTYPE* v_biases,
                      device const DTYPE* k_new, device const DTYPE* v_new,
                      device const uint* position, constant uint& kv_heads, constant uint& length,
                      constant uint& dims, uint index [[thread_position_in_grid]]) {
  append_rows<BITS, 64>(QuantisedParts<DTYPE>{k, k_scales, k_biases}, k_new, position, kv_heads,
                        length, 1, dims, index);
  append_rows<BITS, 64>(QuantisedParts<DTYPE>{v, v_scales, v_biases}, v_new, position, kv_heads,
                        length, 1, dims, index);
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const uint* k, device const DTYPE* k_scales,
    device const DTYPE* k_biases, device const uint* v, device const DTYPE* v_scales,
    device const DTYPE* v_biases, device const uint* position, device float* partial,
    device float* level, constant uint& heads, constant uint& kv_heads, constant uint& length,
    constant uint& dims, uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  using Format = WholeNumbers<DTYPE, BITS, 64>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads, spans = (length + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * length, own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  const Weights<Format> all_k = {k, {k_scales, k_biases}, dims};
  const Weights<Format> all_v = {v, {v_scales, v_biases}, dims};
  const QuantisedCache<Format> cache = {all_k.from_row(rows), all_v.from_row(rows)};
  decode.walk(cache, group.z * SPAN, min(*position + 1, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level;
  decode.store({partial + own * spans * dims, levels + own * spans, spans, dims}, group.z,
               group.x * SHARED, shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& length,
    constant uint& dims, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (length + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
