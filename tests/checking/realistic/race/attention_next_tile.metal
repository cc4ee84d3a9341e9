// Attention over tiles of keys: the next tile is loaded while others still read the last one.
// tune: BUG = 1, 0
// value: length = 128
// buffer: q float32 (64) normal
// buffer: keys float32 (length) normal
// buffer: values float32 (length) normal
// buffer: y float32 (64) output
// dispatch: k threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* q, device const float* keys, device const float* values,
              device float* y, constant uint& length, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float2 tile[64];
  float top = -INFINITY, sum = 0, out = 0;
  for (uint start = 0; start < length; start += 64) {
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
    tile[t] = float2(keys[start + t], values[start + t]);  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 64; ++j) {
      float score = q[t] * tile[j].x;
      float now = max(top, score);
      float old = exp(top - now), part = exp(score - now);
      sum = sum * old + part;
      out = out * old + part * tile[j].y;
      top = now;
    }
  }
  y[t] = out / sum;
}
