// Tiles of 32 x 32 through local memory, padded; 32 x 8 items, four elements each.
#define N 4096u

kernel void transpose(global const float* restrict x, global float* restrict y) {
  local float tile[32][33];
  const uint local_x = get_local_id(0), local_y = get_local_id(1);
  const uint group_x = get_group_id(0), group_y = get_group_id(1);
  for (uint i = 0; i < 32; i += 8)
    tile[local_y + i][local_x] = x[(group_y * 32 + local_y + i) * N + group_x * 32 + local_x];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < 32; i += 8)
    y[(group_x * 32 + local_y + i) * N + group_y * 32 + local_x] = tile[local_x][local_y + i];
}
