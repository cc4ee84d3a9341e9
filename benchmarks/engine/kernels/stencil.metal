// A point and its six neighbours. A threadgroup has a tile of 32 x 8 points and walks through 32
// planes with it; what lies outside of the cube is zero.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint N = 256;
constant constexpr uint PLANE = N * N;
constant constexpr uint DEPTH = 32;

kernel void stencil(device const float* x, device float* y, uint3 at [[thread_position_in_grid]],
                    uint3 local [[thread_position_in_threadgroup]]) {
  threadgroup float tile[10][34];
  const uint column = local.x + 1, row = local.y + 1;
  uint i = at.z * DEPTH * PLANE + at.y * N + at.x;
  float behind = at.z > 0 ? x[i - PLANE] : 0.0f, here = x[i];
  for (uint z = at.z * DEPTH; z < (at.z + 1) * DEPTH; ++z) {
    const float ahead = z + 1 < N ? x[i + PLANE] : 0.0f;
    tile[row][column] = here;
    if (local.x == 0) tile[row][0] = at.x > 0 ? x[i - 1] : 0.0f;
    if (local.x == 31) tile[row][33] = at.x + 1 < N ? x[i + 1] : 0.0f;
    if (local.y == 0) tile[0][column] = at.y > 0 ? x[i - N] : 0.0f;
    if (local.y == 7) tile[9][column] = at.y + 1 < N ? x[i + N] : 0.0f;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = 0.4f * here + 0.1f * (tile[row][column - 1] + tile[row][column + 1] +
                                 tile[row - 1][column] + tile[row + 1][column] + behind + ahead);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    behind = here;
    here = ahead;
    i += PLANE;
  }
}
