// Room for eight partial sums, and a threadgroup of sixteen SIMD-groups.
// tune: BUG = 1, 0
// value: n = 512
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: sum_all threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void sum_all(device const float* x, device float* y,
                    uint t [[thread_position_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simd [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
  threadgroup float partial[BUG ? 8 : 16];
  float sum = simd_sum(x[t]);
  if (lane == 0) partial[simd] = sum;  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (simd == 0) {
    float v = simd_sum(lane < (BUG ? 8 : simdgroups) ? partial[lane] : 0);
    if (lane == 0) y[0] = v;
  }
}
