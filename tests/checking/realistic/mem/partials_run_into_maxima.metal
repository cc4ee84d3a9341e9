// Two arrays for a group's partial results; a pointer runs out of the one into the other.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (2) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

static void store(threadgroup float* to, uint slot, float value) {
  to[slot] = value;  // bug: out-of-bounds
}

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[8];
  threadgroup float maxima[8];
  float sum = simd_sum(x[t]), top = simd_max(x[t]);
  if (lane == 0) maxima[simd] = top;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (lane == 0) store(sums, simd + BUG, sum);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    float all = 0, best = -INFINITY;
    for (uint j = BUG; j < 8; ++j) all += sums[j];
    for (uint j = 0; j < 8; ++j) best = max(best, maxima[j]);
    y[0] = all;
    y[1] = best;
  }
}
