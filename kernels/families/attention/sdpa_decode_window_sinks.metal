// One query a head over the last keys of a cache, with a logit of each head's own that has no value:
// the online softmax begins with it instead of with nothing. A threadgroup a head, whose SIMD-groups
// take turns at the keys of the window (decode.h); no other row of the cache is read.
// dispatch: sdpa_decode_window_sinks  threadgroups=(heads)  threads=(TG)
// tune: TG = 256, 64, 128, 512, 1024
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/decode.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sdpa_decode_window_sinks(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device const DTYPE* sinks,
    device DTYPE* y, constant uint& heads, constant uint& kv_heads, constant uint& keys,
    constant uint& dims, constant uint& width, uint head [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Attention = Decode<TG / 32>;
  threadgroup Attention::Memory memory;
  const ulong first = ulong(head / (heads / kv_heads)) * keys * dims;
  Attention::attend(q + head * dims, k + first, v + first, y + head * dims,
                    WindowKeys{keys, 0, keys - min(keys, width)}, dims, float(sinks[head]), memory,
                    PLACE);
}
