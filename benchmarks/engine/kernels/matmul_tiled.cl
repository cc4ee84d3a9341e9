#define N 1024u
#define TILE 16u

kernel void matmul_tiled(global const float* restrict a, global const float* restrict b,
                         global float* restrict c) {
  local float a_tile[TILE][TILE];
  local float b_tile[TILE][TILE];
  const uint x = get_global_id(0), y = get_global_id(1);
  const uint local_x = get_local_id(0), local_y = get_local_id(1);
  float sum = 0.0f;
  for (uint k = 0; k < N; k += TILE) {
    a_tile[local_y][local_x] = a[y * N + k + local_x];
    b_tile[local_y][local_x] = b[(k + local_y) * N + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i) sum += a_tile[local_y][i] * b_tile[i][local_x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[y * N + x] = sum;
}
