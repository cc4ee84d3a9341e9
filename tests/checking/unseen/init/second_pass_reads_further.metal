// The first pass leaves one partial sum a group; the second reads as many as there are threads.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// scratch: part float32 (32)
// dispatch: first threadgroups=(4) threads=(64)
// dispatch: second threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void first(device const float* x, device float* part, uint i [[thread_position_in_grid]],
                  uint g [[threadgroup_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[2];
  float sum = simd_sum(x[i]);
  if (t % 32 == 0) s[t / 32] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) part[g] = s[0] + s[1];
}

kernel void second(device const float* part, device float* y,
                   uint t [[thread_position_in_threadgroup]]) {
  float v = 0;
  if (BUG || t < 4) v = part[t];  // bug: uninitialised
  v = simd_sum(v);
  if (t == 0) y[0] = v;
}
