// Sums of all numbers so far, in one pass: a work-group looks back over the sums of those before it.
// PoCL 3.1 has no sub-groups: the work-group's own sums are scanned in local memory.
#define THREADS 256u
#define EACH 4u
#define OWN (1u << 30)
#define ALL (1u << 31)
#define SUM (OWN - 1)

kernel void clear(global uint* ticket, global uint* states) {
  const uint i = get_global_id(0);
  states[i] = 0;
  if (i == 0) ticket[0] = 0;
}

uint sum_before(global volatile uint* states, uint group) {
  uint sum = 0;
  while (group > 0) {
    const uint state = atomic_or(&states[group - 1], 0);
    sum += state & SUM;
    if (state & ALL) break;
    if (state & OWN) --group;
  }
  return sum;
}

kernel void scan(global const uint4* restrict x, global uint4* restrict y,
                 global volatile uint* ticket, global volatile uint* states) {
  local uint group, before;
  local uint sums[THREADS];
  const uint thread_index = get_local_id(0);
  if (thread_index == 0) group = atomic_add(ticket, 1);
  barrier(CLK_LOCAL_MEM_FENCE);

  const uint first = (group * THREADS + thread_index) * EACH;
  uint4 values[EACH];
  uint own = 0;
  for (uint i = 0; i < EACH; ++i) {
    values[i] = x[first + i];
    own += values[i].x + values[i].y + values[i].z + values[i].w;
  }
  sums[thread_index] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint distance = 1; distance < THREADS; distance *= 2) {
    const uint from_below = thread_index >= distance ? sums[thread_index - distance] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[thread_index] += from_below;
    barrier(CLK_LOCAL_MEM_FENCE);
  }

  if (thread_index == 0) {
    const uint total = sums[THREADS - 1];
    atomic_xchg(&states[group], OWN | total);
    before = sum_before(states, group);
    atomic_xchg(&states[group], ALL | (before + total));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint sum = before + sums[thread_index] - own;
  for (uint i = 0; i < EACH; ++i) {
    uint4 value = values[i];
    value.x += sum;
    value.y += value.x;
    value.z += value.y;
    value.w += value.z;
    sum = value.w;
    y[first + i] = value;
  }
}
