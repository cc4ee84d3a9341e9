// Radix sort by digits of 4 bits, in blocks of 2048 keys: digits are counted, the counts of all
// blocks added up, and every key goes to its place. PoCL 3.1 has no sub-groups: each item counts
// its own eight keys, and these counts are scanned in local memory.
#define KEYS (1024u * 1024)
#define THREADS 256u
#define EACH 8u
#define BLOCK (THREADS * EACH)
#define BLOCKS (KEYS / BLOCK)
#define DIGITS 16u

uint digit_of(uint key, uint shift) { return key >> shift & (DIGITS - 1); }

kernel void count_digits(global const uint* restrict x, global uint* restrict counts, uint shift) {
  local volatile uint bins[DIGITS];
  const uint thread_index = get_local_id(0), group = get_group_id(0);
  if (thread_index < DIGITS) bins[thread_index] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = thread_index; i < BLOCK; i += THREADS)
    atomic_inc(&bins[digit_of(x[group * BLOCK + i], shift)]);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (thread_index < DIGITS) counts[thread_index * BLOCKS + group] = bins[thread_index];
}

// Of as many numbers as there are items: those before the own one, added up.
#define SCAN(sums, own)                                                                 \
  sums[thread_index] = own;                                                             \
  barrier(CLK_LOCAL_MEM_FENCE);                                                         \
  for (uint distance = 1; distance < THREADS; distance *= 2) {                          \
    const uint from_below = thread_index >= distance ? sums[thread_index - distance] : 0; \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
    sums[thread_index] += from_below;                                                   \
    barrier(CLK_LOCAL_MEM_FENCE);                                                       \
  }

kernel void starts_of_digits(global uint* counts) {
  local uint sums[THREADS];
  const uint thread_index = get_local_id(0), some = DIGITS * BLOCKS / THREADS;
  uint own = 0;
  for (uint i = 0; i < some; ++i) own += counts[thread_index * some + i];
  SCAN(sums, own)
  uint sum = sums[thread_index] - own;
  for (uint i = 0; i < some; ++i) {
    const uint count = counts[thread_index * some + i];
    counts[thread_index * some + i] = sum;
    sum += count;
  }
}

kernel void move_keys(global const uint* restrict x, global uint* restrict y,
                      global const uint* restrict counts, uint shift) {
  local uint own_counts[DIGITS * THREADS], sums[THREADS], starts[DIGITS];
  const uint thread_index = get_local_id(0), group = get_group_id(0);
  uint keys[EACH];
  for (uint d = 0; d < DIGITS; ++d) own_counts[d * THREADS + thread_index] = 0;
  for (uint i = 0; i < EACH; ++i) {
    keys[i] = x[group * BLOCK + thread_index * EACH + i];
    ++own_counts[digit_of(keys[i], shift) * THREADS + thread_index];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  uint own = 0;
  for (uint i = 0; i < DIGITS; ++i) own += own_counts[thread_index * DIGITS + i];
  SCAN(sums, own)
  uint sum = sums[thread_index] - own;
  for (uint i = 0; i < DIGITS; ++i) {
    const uint count = own_counts[thread_index * DIGITS + i];
    own_counts[thread_index * DIGITS + i] = sum;
    sum += count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (thread_index < DIGITS)
    starts[thread_index] =
        counts[thread_index * BLOCKS + group] - own_counts[thread_index * THREADS];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = 0; i < EACH; ++i) {
    const uint digit = digit_of(keys[i], shift);
    y[starts[digit] + own_counts[digit * THREADS + thread_index]++] = keys[i];
  }
}
