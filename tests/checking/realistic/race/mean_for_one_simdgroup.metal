// The mean of a row is made by the first SIMD-group, which alone waits for it.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float mean;
  if (simd == 0) {
    float sum = simd_sum(x[lane] + x[lane + 32] + x[lane + 64] + x[lane + 96]);
    if (lane == 0) mean = sum / 128;
  }
  if (BUG) simdgroup_barrier(mem_flags::mem_threadgroup);
  else threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = x[t] - mean;  // bug: race
}
