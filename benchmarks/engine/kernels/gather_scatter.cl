// Blocks of 1024 numbers: each goes where its index says, and meets the one that its index names.
#define THREADS 256u
#define BLOCK 1024u

kernel void gather_scatter(global const float* restrict x, global const uint* restrict index,
                           global float* restrict y) {
  local float moved[BLOCK];
  const uint thread_index = get_local_id(0);
  const uint first = get_group_id(0) * BLOCK;
  for (uint i = thread_index; i < BLOCK; i += THREADS) moved[index[first + i]] = x[first + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = thread_index; i < BLOCK; i += THREADS)
    y[first + i] = moved[i] + x[first + index[first + i]];
}
