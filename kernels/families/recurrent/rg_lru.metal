// h = a h + x in every channel. Tokens are cut into PARTS, one for each SIMD-group of a threadgroup
// that has 32 neighbouring channels: it finds what its part makes of zero, and by how much it makes
// a state decay; through threadgroup memory each learns the state that its part begins with, and
// runs through it once more, from the cache. With one part there is no first pass.
// dispatch: rg_lru  threadgroups=(ceil_div(channels, 32), batch)  threads=(32 * PARTS)
// tune: PARTS = 8, 1, 4, 16
// defaults: cpu PARTS = 1
// dtypes: float32, float16, bfloat16
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(32 * PARTS)]] void rg_lru(
    device const DTYPE* a, device const DTYPE* x, device DTYPE* h, constant uint& tokens,
    constant uint& channels, uint2 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]], uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float2 found[PARTS][32];
  const uint channel = group.x * 32 + lane;
  const uint length = (tokens + PARTS - 1) / PARTS;
  const uint first = min(simdgroup * length, tokens), end = min(first + length, tokens);
  const ulong start = ulong(group.y) * tokens * channels + channel;
  float state = 0.0f;
  if (PARTS > 1) {
    float decay = 1.0f;
    for (uint t = first; t < end && channel < channels; ++t) {
      const float kept = float(a[start + ulong(t) * channels]);
      state = fma(kept, state, float(x[start + ulong(t) * channels]));
      decay *= kept;
    }
    found[simdgroup][lane] = float2(decay, state);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    state = 0.0f;
    for (uint i = 0; i < simdgroup; ++i) {
      state = fma(found[i][lane].x, state, found[i][lane].y);
    }
  }
  for (uint t = first; t < end && channel < channels; ++t) {
    const ulong at = start + ulong(t) * channels;
    state = fma(float(a[at]), state, float(x[at]));
    h[at] = DTYPE(state);
  }
}
