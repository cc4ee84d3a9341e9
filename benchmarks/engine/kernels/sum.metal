// Each of 1024 threadgroups of 256 sums its own 65536 numbers; one more sums their results.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 256;
constant constexpr uint EACH = 65536 / THREADS;

static float group_sum(float sum, threadgroup float* sums, uint lane, uint simdgroup) {
  sum = simd_sum(sum);
  if (lane == 0) sums[simdgroup] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(lane < THREADS / 32 ? sums[lane] : 0.0f);
}

kernel void sum(device const float* x, device float* partial,
                uint group [[threadgroup_position_in_grid]],
                uint thread_index [[thread_position_in_threadgroup]],
                uint lane [[thread_index_in_simdgroup]],
                uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[THREADS / 32];
  device const float* from = x + group * (EACH * THREADS);
  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) sum += from[thread_index + i * THREADS];
  sum = group_sum(sum, sums, lane, simdgroup);
  if (thread_index == 0) partial[group] = sum;
}

kernel void total(device const float* partial, device float* y,
                  uint thread_index [[thread_position_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup float sums[THREADS / 32];
  float sum = 0.0f;
  for (uint i = thread_index; i < 1024; i += THREADS) sum += partial[i];
  sum = group_sum(sum, sums, lane, simdgroup);
  if (thread_index == 0) y[0] = sum;
}
