// Each of 1024 work-groups of 256 sums its own 65536 numbers; one more sums their results.
#define THREADS 256u
#define EACH (65536u / THREADS)

kernel void sum(global const float* restrict x, global float* restrict partial) {
  local float scratch[THREADS];
  const uint thread_index = get_local_id(0);
  global const float* from = x + get_group_id(0) * (EACH * THREADS);
  float sum = 0.0f;
  for (uint i = 0; i < EACH; ++i) sum += from[thread_index + i * THREADS];
  scratch[thread_index] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size) scratch[thread_index] += scratch[thread_index + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (thread_index == 0) partial[get_group_id(0)] = scratch[0];
}

kernel void total(global const float* restrict partial, global float* restrict y) {
  local float scratch[THREADS];
  const uint thread_index = get_local_id(0);
  float sum = 0.0f;
  for (uint i = thread_index; i < 1024; i += THREADS) sum += partial[i];
  scratch[thread_index] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint half_size = THREADS / 2; half_size > 0; half_size /= 2) {
    if (thread_index < half_size) scratch[thread_index] += scratch[thread_index + half_size];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (thread_index == 0) y[0] = scratch[0];
}
