// One threadgroup a row. THREADS divides the number of columns.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint COLS = 1024;
constant constexpr uint EACH = COLS / THREADS;
constant constexpr uint SIMDGROUPS = THREADS / 32;

kernel void softmax(device const float* x, device float* y,
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_position_in_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float peaks[SIMDGROUPS];
  threadgroup float sums[SIMDGROUPS];
  device const float* from = x + row * COLS;
  device float* to = y + row * COLS;
  float kept[EACH];

  float peak = -INFINITY;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = from[thread_index + i * THREADS];
    peak = max(peak, kept[i]);
  }
  peak = simd_max(peak);
  if (lane == 0) peaks[simdgroup] = peak;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  peak = simd_max(lane < SIMDGROUPS ? peaks[lane] : -INFINITY);

  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = exp(kept[i] - peak);
    sum += kept[i];
  }
  sum = simd_sum(sum);
  if (lane == 0) sums[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  sum = simd_sum(lane < SIMDGROUPS ? sums[lane] : 0.0f);

  const float scale = 1.0f / sum;
  for (uint i = 0; i < EACH; ++i) to[thread_index + i * THREADS] = kept[i] * scale;
}
