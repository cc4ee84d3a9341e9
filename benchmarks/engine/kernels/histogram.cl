// 256 bins, counted in local memory by 1024 work-groups of 256, then added to the result.
#define THREADS 256u
#define EACH 64u

kernel void clear(global uint* counts) { counts[get_global_id(0)] = 0; }

kernel void histogram(global const uint* restrict x, global volatile uint* restrict counts) {
  local volatile uint bins[THREADS];
  const uint thread_index = get_local_id(0);
  bins[thread_index] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  global const uint* from = x + get_group_id(0) * (EACH * THREADS);
  for (uint i = 0; i < EACH; ++i) atomic_inc(&bins[from[thread_index + i * THREADS]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_add(&counts[thread_index], bins[thread_index]);
}
