// A step of decoding with its caches, in place: the new key and value of each head become a row of
// the caches first, then the query attends to all rows up to theirs, in spans (metalbench/
// split_decode.h), and what the spans have left is joined. The position is in memory, as a step is
// known before the token is: spans behind it leave nothing.
// inout: k, v
// dispatch: place  threads_in_grid=(ceil_div(dims, 4), kv_heads)  threads=(32, 1)
// dispatch: attend  threadgroups=(ceil_div(heads / kv_heads, SHARED), kv_heads, ceil_div(length, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads)  threads=(256)
// scratch: partial float32 (heads, ceil_div(length, SPAN), dims)
// scratch: level float32 (heads, ceil_div(length, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 2, 1, 4, 8
// tune: TG = 128, 64, 256
// defaults: cpu SHARED = 4
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/split_decode.h"
using namespace metalbench;

[[kernel]] void place(device DTYPE* k, device DTYPE* v, device const DTYPE* k_new,
                      device const DTYPE* v_new, device const uint* position,
                      constant uint& length, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const ulong from = ulong(at.y) * dims, to = (ulong(at.y) * length + *position) * dims;
  store_quad(k + to, 4 * at.x, dims, load_quad(k_new + from, 4 * at.x, dims));
  store_quad(v + to, 4 * at.x, dims, load_quad(v_new + from, 4 * at.x, dims));
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v,
    device const uint* position, device float* partial, device float* level, constant uint& heads,
    constant uint& kv_heads, constant uint& length, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  threadgroup Decode::Memory memory;
  const uint shared = heads / kv_heads, spans = (length + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * length * dims, own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  decode.walk(RowCache<DTYPE>{k + rows, v + rows, dims}, group.z * SPAN,
              min(*position + 1, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level + own * spans;
  decode.store({partial + own * spans * dims, levels, spans, dims}, group.z, group.x * SHARED,
               shared, memory, PLACE);
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& length,
    constant uint& dims, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (length + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
