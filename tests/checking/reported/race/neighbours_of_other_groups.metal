// A second sweep reads what the group next door has just written, as reported of argonne-lcf/sycltrain#22.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: once float32 (n) output
// buffer: twice float32 (n) output
// dispatch: smooth threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void smooth(device const float* x, device float* once, device float* twice,
                   constant uint& n, uint i [[thread_position_in_grid]],
                   uint t [[thread_position_in_threadgroup]]) {
  float left = i > 0 ? x[i - 1] : 0;
  once[i] = 0.5f * (left + x[i]);
  threadgroup_barrier(mem_flags::mem_device);
  float before = 0;
  if (BUG ? i > 0 : t > 0) before = once[i - 1];  // bug: race
  twice[i] = 0.5f * (before + once[i]);
}
