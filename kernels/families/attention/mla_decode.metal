// Decoding with latent attention in its absorbed form (DeepSeek-V2): all query heads share one row
// of a cache for each key, 512 latent elements and 64 with rotary positions, and its latent part is
// the value too. Heads are the rows of a product with matrices (metalbench/attention.h), so that a
// row of the cache is read once for eight of them. Spans of the keys first, then what the spans have
// left (metalbench/partials.h).
// dispatch: attend  threadgroups=(ceil_div(heads, 8), batch, ceil_div(keys, SPAN))  threads=(32 * SPLITS)
// dispatch: merge  threadgroups=(batch * heads)  threads=(256)
// scratch: partial float32 (batch * heads, ceil_div(keys, SPAN), latent)
// scratch: level float32 (batch * heads, ceil_div(keys, SPAN), 2)
// tune: SPAN = 512, 256, 1024
// tune: SPLITS = 2, 1
// tune: AHEAD = 0, 1
// dtypes: float32, float16, bfloat16
// limits: latent <= 512, latent + rotary <= 640
#include "metalbench/attention.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(32 * SPLITS)]] void attend(
    device const DTYPE* q, device const DTYPE* cache, device float* partial, device float* level,
    constant uint& heads, constant uint& keys, constant uint& latent, constant uint& rotary,
    constant uint& scaling_dims, uint3 group [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  using Flash = SightedAttention<DTYPE, 1, 640, Seen<false>, 512, SPLITS, AHEAD, 64>;
  // check: allow threadgroup-memory tiles of float32; halves take half as much
  threadgroup Flash::Memory memory;
  const uint dims = latent + rotary;
  const Flash attention(memory, dims, group.x, PLACE, Seen<false>(), latent, scaling_dims);
  const uint spans = (keys + SPAN - 1) / SPAN;
  const ulong queries = ulong(group.y) * heads;
  const Head<const DTYPE> rows = {cache + ulong(group.y) * keys * dims, keys, dims};
  const Partials to = {partial + queries * spans * latent,
                       (device float2*)level + queries * spans, spans, latent};
  // check: allow registers results of 512 dims; keys and values of halves take half as many
  attention.attend_span(Head<const DTYPE>{q + queries * dims, heads, dims}, rows, rows, to,
                        group.z, group.z * SPAN, min(keys, (group.z + 1) * SPAN));
}

[[kernel, max_total_threads_per_threadgroup(256)]] void merge(
    device const float* partial, device const float* level, device DTYPE* y, constant uint& keys,
    constant uint& latent, uint query [[threadgroup_position_in_grid]], PLACE_ARGUMENTS) {
  const uint spans = (keys + SPAN - 1) / SPAN;
  threadgroup MergeMemory memory;
  merge_spans(partial, level, y, query, spans, latent, memory, PLACE);
}
