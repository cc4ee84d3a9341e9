// One work-group a row. PoCL 3.1 has no sub-groups: reductions are trees in local memory.
#define COLS 1024u
#define EACH (COLS / THREADS)

kernel void layer_norm(global const float* restrict x, global float* restrict y) {
  local float scratch[THREADS];
  const uint thread_index = get_local_id(0);
  global const float* from = x + get_group_id(0) * COLS;
  global float* to = y + get_group_id(0) * COLS;
  float kept[EACH];

  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = from[thread_index + i * THREADS];
    sum += kept[i];
  }
  scratch[thread_index] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size) scratch[thread_index] += scratch[thread_index + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float mean = scratch[0] / COLS;
  barrier(CLK_LOCAL_MEM_FENCE);

  float square = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] -= mean;
    square += kept[i] * kept[i];
  }
  scratch[thread_index] = square;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size) scratch[thread_index] += scratch[thread_index + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = rsqrt(scratch[0] / COLS + 1e-5f);
  for (uint i = 0; i < EACH; ++i) to[thread_index + i * THREADS] = kept[i] * scale;
}
