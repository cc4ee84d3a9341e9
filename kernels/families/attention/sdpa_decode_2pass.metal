// Attention of the queries of a token over a cache that is filled in part, in two dispatches
// (metalbench/split_decode.h): spans of the keys first, each for all queries that share them, then
// what the spans have left. A cache is read once, and by many threadgroups where heads are few.
// dispatch: attend  threadgroups=(ceil_div(heads * queries / kv_heads, SHARED), kv_heads, ceil_div(keys, SPAN))  threads=(TG)
// dispatch: merge  threadgroups=(heads * queries)  threads=(256)
// scratch: partial float32 (heads * queries, ceil_div(keys, SPAN), dims)
// scratch: level float32 (heads * queries, ceil_div(keys, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SHARED = 4, 1, 2, 8
// tune: TG = 128, 64, 256
// defaults: cuda SHARED = 2, SPAN = 1024
// dtypes: float32, float16, bfloat16
// limits: dims <= 512, dims / 257 * (dims % 4) == 0, heads % kv_heads == 0
#include "metalbench/split_decode.h"
#include "metalbench/tiles.h"
using namespace metalbench;

constant constexpr uint FEWER = (SHARED + 1) / 2;
constant constexpr uint FEWEST = (SHARED + 3) / 4;

// The queries of a threadgroup over its span of keys.
template <uint Queries, uint MaxDims, typename Cache>
struct Span {
  using Decode = SplitDecode<TG / 32, Queries, MaxDims>;

  INLINED static void attend(device const DTYPE* q, Cache cache, uint2 keys, Partials to, uint span,
                             uint first, uint queries, threadgroup typename Decode::Memory& memory,
                             Place place) {
    Decode decode(q, first, queries, cache.dims, place);
    decode.walk(cache, keys.x, keys.y, place);
    decode.store(to, span, first, queries, memory, place);
  }
};

[[kernel, max_total_threads_per_threadgroup(TG)]] void attend(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device float* partial,
    device float* level, constant uint& heads, constant uint& kv_heads, constant uint& queries,
    constant uint& keys, constant uint& spare, constant uint& dims,
    uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Whole = Span<SHARED, 128, WholeRowCache<DTYPE>>;
  using Any = Span<FEWER, 256, RowCache<DTYPE>>;
  using Wide = Span<FEWEST, 512, WholeRowCache<DTYPE>>;
  threadgroup Whole::Decode::Memory whole_memory;
  threadgroup Any::Decode::Memory any_memory;
  threadgroup Wide::Decode::Memory wide_memory;
  const uint shared = heads * queries / kv_heads;
  const uint spans = (keys + SPAN - 1) / SPAN;
  const ulong rows = ulong(group.y) * (keys + spare) * dims;
  const ulong own = ulong(group.y) * shared;
  device float2* levels = (device float2*)level + own * spans;
  const Partials to = {partial + own * spans * dims, levels, spans, dims};
  const uint2 span = uint2(group.z * SPAN, min(keys, (group.z + 1) * SPAN));
  const uint first = group.x * SHARED;
  if (dims <= 128 && dims % 4 == 0) {
    Whole::attend(q + own * dims, {k + rows, v + rows, dims}, span, to, group.z, first, shared,
                  whole_memory, PLACE);
  } else if (dims <= 256) {
    // Two quads a lane take twice the registers: half the queries at a time.
    for (uint i = 0; i < SHARED && first + i < shared; i += FEWER) {
      Any::attend(q + own * dims, {k + rows, v + rows, dims}, span, to, group.z, first + i,
                  min(shared, first + SHARED), any_memory, PLACE);
    }
  } else {
    for (uint i = 0; i < SHARED && first + i < shared; i += FEWEST) {
      Wide::attend(q + own * dims, {k + rows, v + rows, dims}, span, to, group.z, first + i,
                   min(shared, first + SHARED), wide_memory, PLACE);
    }
  }
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& keys,
    constant uint& dims, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (keys + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, dims, memory, PLACE);
}
