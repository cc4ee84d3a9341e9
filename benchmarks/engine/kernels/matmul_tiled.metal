// The textbook's: one element of C a thread, tiles of 16 x 16 in threadgroup memory.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint N = 1024;
constant constexpr uint TILE = 16;

kernel void matmul_tiled(device const float* a, device const float* b, device float* c,
                         uint2 at [[thread_position_in_grid]],
                         uint2 local [[thread_position_in_threadgroup]]) {
  threadgroup float a_tile[TILE][TILE];
  threadgroup float b_tile[TILE][TILE];
  float sum = 0.0f;
  for (uint k = 0; k < N; k += TILE) {
    a_tile[local.y][local.x] = a[at.y * N + k + local.x];
    b_tile[local.y][local.x] = b[(k + local.y) * N + at.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < TILE; ++i) sum += a_tile[local.y][i] * b_tile[i][local.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[at.y * N + at.x] = sum;
}
