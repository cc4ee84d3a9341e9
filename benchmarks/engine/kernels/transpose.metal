// Tiles of 32 x 32 through threadgroup memory, padded; 32 x 8 threads, four elements each.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint N = 4096;

kernel void transpose(device const float* x, device float* y,
                      uint2 group [[threadgroup_position_in_grid]],
                      uint2 local [[thread_position_in_threadgroup]]) {
  threadgroup float tile[32][33];
  for (uint i = 0; i < 32; i += 8) {
    tile[local.y + i][local.x] = x[(group.y * 32 + local.y + i) * N + group.x * 32 + local.x];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < 32; i += 8) {
    y[(group.x * 32 + local.y + i) * N + group.y * 32 + local.x] = tile[local.x][local.y + i];
  }
}
