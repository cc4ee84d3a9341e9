// A point and its six neighbours. A work-group has a tile of 32 x 8 points and walks through 32
// planes with it; what lies outside of the cube is zero.
#define N 256u
#define PLANE (N * N)
#define DEPTH 32u

kernel void stencil(global const float* restrict x, global float* restrict y) {
  local float tile[10][34];
  const uint local_x = get_local_id(0), local_y = get_local_id(1);
  const uint at_x = get_global_id(0), at_y = get_global_id(1), at_z = get_global_id(2);
  const uint column = local_x + 1, row = local_y + 1;
  uint i = at_z * DEPTH * PLANE + at_y * N + at_x;
  float behind = at_z > 0 ? x[i - PLANE] : 0.0f, here = x[i];
  for (uint z = at_z * DEPTH; z < (at_z + 1) * DEPTH; ++z) {
    const float ahead = z + 1 < N ? x[i + PLANE] : 0.0f;
    tile[row][column] = here;
    if (local_x == 0) tile[row][0] = at_x > 0 ? x[i - 1] : 0.0f;
    if (local_x == 31) tile[row][33] = at_x + 1 < N ? x[i + 1] : 0.0f;
    if (local_y == 0) tile[0][column] = at_y > 0 ? x[i - N] : 0.0f;
    if (local_y == 7) tile[9][column] = at_y + 1 < N ? x[i + N] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[i] = 0.4f * here + 0.1f * (tile[row][column - 1] + tile[row][column + 1] +
                                 tile[row - 1][column] + tile[row + 1][column] + behind + ahead);
    barrier(CLK_LOCAL_MEM_FENCE);
    behind = here;
    here = ahead;
    i += PLANE;
  }
}
