// A mean square: all lanes of the first SIMD-group read partial sums, of which there are four.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]],
              uint simds [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[32];
  float sum = simd_sum(x[t] * x[t]);
  if (lane == 0) partial[simd] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float mine = 0;
  if (BUG || lane < simds) mine = partial[lane];  // bug: uninitialised
  y[t] = x[t] * rsqrt(simd_sum(mine) / 128);
}
