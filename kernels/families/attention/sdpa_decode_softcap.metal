// One query a head over the last keys of a cache, with soft-capping, as in Gemma 2: scores s become
// cap tanh(s / cap) in registers. A threadgroup a head, whose SIMD-groups take turns at the keys
// (decode.h). A window as long as the cache is none.
// dispatch: sdpa_decode_softcap  threadgroups=(heads)  threads=(TG)
// tune: TG = 256, 64, 128, 512, 1024
// defaults: cuda TG = 1024
// dtypes: float32, float16, bfloat16
// limits: dims <= 256, heads % kv_heads == 0
#include "metalbench/decode.h"
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(TG)]] void sdpa_decode_softcap(
    device const DTYPE* q, device const DTYPE* k, device const DTYPE* v, device DTYPE* y,
    constant uint& heads, constant uint& kv_heads, constant uint& keys, constant uint& dims,
    constant float& cap, constant uint& width, uint head [[threadgroup_position_in_grid]],
    PLACE_ARGUMENTS) {
  using Attention = Decode<TG / 32>;
  using Rows = ChosenRows<WindowKeys, RowCache<DTYPE>>;
  threadgroup Attention::Memory memory;
  const ulong first = ulong(head / (heads / kv_heads)) * keys * dims;
  const WindowKeys window = {keys, 0, keys - min(keys, width)};
  const CappedCache<Rows> rows = {{window, {k + first, v + first, dims}}, cap};
  Attention::attend_rows<256>(q + head * dims, rows, window.count(), y + head * dims, dims,
                              -INFINITY, memory, PLACE);
}
