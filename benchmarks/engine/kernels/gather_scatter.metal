// Blocks of 1024 numbers: each goes where its index says, and meets the one that its index names.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 256;
constant constexpr uint BLOCK = 1024;

kernel void gather_scatter(device const float* x, device const uint* index, device float* y,
                           uint group [[threadgroup_position_in_grid]],
                           uint thread_index [[thread_position_in_threadgroup]]) {
  threadgroup float moved[BLOCK];
  const uint first = group * BLOCK;
  for (uint i = thread_index; i < BLOCK; i += THREADS) moved[index[first + i]] = x[first + i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < BLOCK; i += THREADS) {
    y[first + i] = moved[i] + x[first + index[first + i]];
  }
}
