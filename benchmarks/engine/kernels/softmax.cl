// One work-group a row. PoCL 3.1 has no sub-groups: reductions are trees in local memory.
#define COLS 1024u
#define EACH (COLS / THREADS)

kernel void softmax(global const float* restrict x, global float* restrict y) {
  local float scratch[THREADS];
  const uint thread_index = get_local_id(0);
  global const float* from = x + get_group_id(0) * COLS;
  global float* to = y + get_group_id(0) * COLS;
  float kept[EACH];

  float peak = -INFINITY;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = from[thread_index + i * THREADS];
    peak = fmax(peak, kept[i]);
  }
  scratch[thread_index] = peak;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size)
      scratch[thread_index] = fmax(scratch[thread_index], scratch[thread_index + half_size]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  peak = scratch[0];
  barrier(CLK_LOCAL_MEM_FENCE);

  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) {
    kept[i] = exp(kept[i] - peak);
    sum += kept[i];
  }
  scratch[thread_index] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size) scratch[thread_index] += scratch[thread_index + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  const float scale = 1.0f / scratch[0];
  for (uint i = 0; i < EACH; ++i) to[thread_index + i * THREADS] = kept[i] * scale;
}
