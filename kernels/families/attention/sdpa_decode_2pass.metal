// Attention of the queries of a token over a cache that is filled in part, in two dispatches
// (metalbench/split_decode.h): spans of the keys first, each for all queries that share them, then
// what the spans have left. A cache is read once, and by many threadgroups where heads are few.
// dispatch: attend  threadgroups=(ceil_div(heads * queries / kv_heads, SHARED), kv_heads, ceil_div(keys, SPAN))  threads=(TG)
// dispatch: merge  threads_in_grid=(ceil_div(dims, 4), heads * queries)  threads=(32, 4)
// scratch: partial float32 (heads * queries, ceil_div(keys, SPAN), dims)
// scratch: level float32 (heads * queries, ceil_div(keys, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 4, 1, 2, 8
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/split_decode.h"
#include "metalbench/tiles.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device float* partial,
    device float* level, constant uint& heads, constant uint& kv_heads, constant uint& queries,
    constant uint& keys, constant uint& spare, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Decode = SplitDecode<TG / 32, SHARED, 256>;
  threadgroup Decode::Memory memory;
  const uint shared = heads * queries / kv_heads;
  const uint spans = (keys + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * (keys + spare) * dims;
  const ulong own = ulong(group.y) * shared;
  Decode decode(q + own * dims, group.x * SHARED, shared, dims, PLACE);
  decode.walk(RowCache<DTYPE>{k + rows, v + rows, dims}, group.z * SPAN,
              min(keys, (group.z + 1) * SPAN), PLACE);
  device float2* levels = (device float2*)level;
  decode.store({partial + own * spans * dims, levels + own * spans, spans, dims}, group.z,
               group.x * SHARED, shared, memory, PLACE);
}

[[kernel]] void merge(device const float* partial, device const float* level, device DTYPE* y,
                      constant uint& keys, constant uint& dims,
                      uint2 at [[thread_position_in_grid]]) {
  const uint spans = (keys + SPAN - 1) / SPAN;
  const ulong first = ulong(at.y) * spans;
  merge_partials(partial + first * dims, StoredLevels{(device const float2*)level + first},
                 y + ulong(at.y) * dims, spans, dims, 4 * at.x);
}
