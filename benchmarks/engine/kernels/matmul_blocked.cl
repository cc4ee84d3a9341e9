// 64 x 64 of C a work-group of 16 x 16, a block of 4 x 4 an item in registers; tiles of depth 16.
#define N 1024u
#define TILE 64u
#define DEPTH 16u

kernel void matmul_blocked(global const float* restrict a, global const float* restrict b,
                           global float* restrict c) {
  local float a_tile[DEPTH][TILE] __attribute__((aligned(16)));  // transposed
  local float b_tile[DEPTH][TILE] __attribute__((aligned(16)));
  const uint local_x = get_local_id(0), local_y = get_local_id(1);
  const uint group_x = get_group_id(0), group_y = get_group_id(1);
  const uint thread_index = local_y * 16 + local_x;
  const uint a_row = thread_index / 4, a_column = thread_index % 4 * 4;
  const uint b_row = thread_index / 16, b_column = thread_index % 16 * 4;
  global const float* a_from = a + (group_y * TILE + a_row) * N + a_column;
  global const float* b_from = b + b_row * N + group_x * TILE + b_column;
  float4 sum0 = 0.0f, sum1 = 0.0f, sum2 = 0.0f, sum3 = 0.0f;

  for (uint k = 0; k < N; k += DEPTH) {
    const float4 from_a = *(global const float4*)(a_from + k);
    a_tile[a_column][a_row] = from_a.x;
    a_tile[a_column + 1][a_row] = from_a.y;
    a_tile[a_column + 2][a_row] = from_a.z;
    a_tile[a_column + 3][a_row] = from_a.w;
    *(local float4*)&b_tile[b_row][b_column] = *(global const float4*)(b_from + k * N);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < DEPTH; ++i) {
      const float4 left = *(local const float4*)&a_tile[i][local_y * 4];
      const float4 right = *(local const float4*)&b_tile[i][local_x * 4];
      sum0 += left.x * right;
      sum1 += left.y * right;
      sum2 += left.z * right;
      sum3 += left.w * right;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  global float* to = c + (group_y * TILE + local_y * 4) * N + group_x * TILE + local_x * 4;
  *(global float4*)to = sum0;
  *(global float4*)(to + N) = sum1;
  *(global float4*)(to + 2 * N) = sum2;
  *(global float4*)(to + 3 * N) = sum3;
}
