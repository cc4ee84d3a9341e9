// One threadgroup a row. THREADS divides the number of columns.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint COLS = 1024;
constant constexpr uint EACH = COLS / THREADS;
constant constexpr uint SIMDGROUPS = THREADS / 32;

kernel void layer_norm(device const float* x, device float* y,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_position_in_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[SIMDGROUPS];
  threadgroup float squares[SIMDGROUPS];
  device const float* from = x + row * COLS;
  device float* to = y + row * COLS;
  float kept[EACH];

  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = from[thread_index + i * THREADS];
    sum += kept[i];
  }
  sum = simd_sum(sum);
  if (lane == 0) sums[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const float mean = simd_sum(lane < SIMDGROUPS ? sums[lane] : 0.0f) / COLS;

  float square = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] -= mean;
    square += kept[i] * kept[i];
  }
  square = simd_sum(square);
  if (lane == 0) squares[simdgroup] = square;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  square = simd_sum(lane < SIMDGROUPS ? squares[lane] : 0.0f);

  const float scale = rsqrt(square / COLS + 1e-5f);
  for (uint i = 0; i < EACH; ++i) to[thread_index + i * THREADS] = kept[i] * scale;
}
