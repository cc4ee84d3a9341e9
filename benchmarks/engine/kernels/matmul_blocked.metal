// 64 x 64 of C a threadgroup of 16 x 16, a block of 4 x 4 a thread in registers; tiles of depth 16.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint N = 1024;
constant constexpr uint TILE = 64;
constant constexpr uint DEPTH = 16;

kernel void matmul_blocked(device const float* a, device const float* b, device float* c,
                           uint2 group [[threadgroup_position_in_grid]],
                           uint2 local [[thread_position_in_threadgroup]]) {
  threadgroup float a_tile[DEPTH][TILE];  // transposed
  threadgroup float b_tile[DEPTH][TILE];
  const uint thread_index = local.y * 16 + local.x;
  const uint a_row = thread_index / 4, a_column = thread_index % 4 * 4;
  const uint b_row = thread_index / 16, b_column = thread_index % 16 * 4;
  device const float* a_from = a + (group.y * TILE + a_row) * N + a_column;
  device const float* b_from = b + b_row * N + group.x * TILE + b_column;
  float4 sums[4] = {0.0f, 0.0f, 0.0f, 0.0f};

  for (uint k = 0; k < N; k += DEPTH) {
    const float4 from_a = *(device const float4*)(a_from + k);
    for (uint i = 0; i < 4; ++i) a_tile[a_column + i][a_row] = from_a[i];
    *(threadgroup float4*)&b_tile[b_row][b_column] = *(device const float4*)(b_from + k * N);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0; i < DEPTH; ++i) {
      const float4 left = *(threadgroup const float4*)&a_tile[i][local.y * 4];
      const float4 right = *(threadgroup const float4*)&b_tile[i][local.x * 4];
      sums[0] += left.x * right;
      sums[1] += left.y * right;
      sums[2] += left.z * right;
      sums[3] += left.w * right;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  device float* to = c + (group.y * TILE + local.y * 4) * N + group.x * TILE + local.x * 4;
  for (uint i = 0; i < 4; ++i) *(device float4*)(to + i * N) = sums[i];
}
