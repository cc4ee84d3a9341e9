// One query a head over a cache: a threadgroup a head, whose SIMD-groups take turns at the keys,
// each with an online softmax, joined at the end (decode.h). Heads that share keys read the same
// rows, which the cache keeps. Scores never leave registers.
// dispatch: sdpa_decode  threadgroups=(heads)  threads=(TG)
// tune: TG = 256, 64, 128, 512, 1024
// defaults: cuda TG = 1024
// dtypes: float32, float16, bfloat16
// limits: dims <= 512, dims / 257 * (dims % 4) == 0, heads % kv_heads == 0
#include "metalbench/decode.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sdpa_decode(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& keys, constant uint& dims,
    uint head [[threadgroup_position_in_grid]], uint thread_index [[thread_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  using Attention = Decode<TG / 32>;
  threadgroup Attention::Memory memory;
  const ulong first = ulong(head / (heads / kv_heads)) * keys * dims;
  Attention::attend<512>(q + head * dims, k + first, v + first, y + head * dims, AllKeys{keys}, dims,
                    -INFINITY, memory, {thread_index, lane, simdgroup});
}
