// Prefixes of SIMD-groups are overwritten by those of the next block of the row, as fixed in ml-explore/mlx#2591.
// tune: BUG = 1, 0
// value: n = 1024
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: cumulate threadgroups=(1) threads=(256)
#include <metal_stdlib>
using namespace metal;

kernel void cumulate(device const float* x, device float* y, constant uint& n,
                     uint t [[thread_position_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[8];
  float carry = 0;
  for (uint begin = 0; begin < n; begin += 256) {
    float v = x[begin + t];
    float inclusive = simd_prefix_inclusive_sum(v);
    if (lane == 31) sums[simd] = inclusive;  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float before = 0, all = 0;
    for (uint s = 0; s < 8; ++s) {
      if (s < simd) before += sums[s];
      all += sums[s];
    }
    y[begin + t] = carry + before + inclusive;
    carry += all;
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
