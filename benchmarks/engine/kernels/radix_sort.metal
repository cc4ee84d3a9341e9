// Radix sort by digits of 4 bits, in blocks of 2048 keys: digits are counted, the counts of all
// blocks added up, and every key goes to its place. Keys of one digit in a SIMD-group find each
// other by ballots.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint KEYS = 1024 * 1024;
constant constexpr uint THREADS = 256;
constant constexpr uint EACH = 8;
constant constexpr uint BLOCK = THREADS * EACH;
constant constexpr uint BLOCKS = KEYS / BLOCK;
constant constexpr uint DIGITS = 16;
constant constexpr uint SIMDGROUPS = THREADS / 32;

static uint digit_of(uint key, uint shift) { return key >> shift & (DIGITS - 1); }

static uint lanes_with(uint digit) {
  uint same = ~0u;
  for (uint bit = 1; bit < DIGITS; bit *= 2) {
    const uint set = uint((simd_vote::vote_t)simd_ballot((digit & bit) != 0));
    same &= digit & bit ? set : ~set;
  }
  return same;
}

kernel void count_digits(device const uint* x, device uint* counts, constant uint& shift,
                         uint group [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_position_in_threadgroup]]) {
  threadgroup atomic_uint bins[DIGITS];
  if (thread_index < DIGITS) atomic_store_explicit(&bins[thread_index], 0, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < BLOCK; i += THREADS) {
    const uint digit = digit_of(x[group * BLOCK + i], shift);
    atomic_fetch_add_explicit(&bins[digit], 1, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index < DIGITS) {
    counts[thread_index * BLOCKS + group] =
        atomic_load_explicit(&bins[thread_index], memory_order_relaxed);
  }
}

kernel void starts_of_digits(device uint* counts,
                             uint thread_index [[thread_position_in_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  constexpr uint some = DIGITS * BLOCKS / THREADS;
  threadgroup uint sums[SIMDGROUPS];
  uint own = 0;
  for (uint i = 0; i < some; ++i) own += counts[thread_index * some + i];
  const uint so_far = simd_prefix_inclusive_sum(own);
  if (lane == 31) sums[simdgroup] = so_far;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint sum = simd_sum(lane < simdgroup ? sums[lane] : 0) + so_far - own;
  for (uint i = 0; i < some; ++i) {
    const uint count = counts[thread_index * some + i];
    counts[thread_index * some + i] = sum;
    sum += count;
  }
}

kernel void move_keys(device const uint* x, device uint* y, device const uint* counts,
                      constant uint& shift, uint group [[threadgroup_position_in_grid]],
                      uint thread_index [[thread_position_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint starts[SIMDGROUPS][DIGITS];
  const uint first = group * BLOCK + simdgroup * EACH * 32 + lane;
  const uint below = (1u << lane) - 1;
  uint keys[EACH];
  if (lane < DIGITS) starts[simdgroup][lane] = 0;
  simdgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < EACH; ++i) {
    keys[i] = x[first + i * 32];
    const uint digit = digit_of(keys[i], shift), same = lanes_with(digit);
    if ((same & below) == 0) starts[simdgroup][digit] += popcount(same);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (thread_index < DIGITS) {
    uint start = counts[thread_index * BLOCKS + group];
    for (uint s = 0; s < SIMDGROUPS; ++s) {
      const uint count = starts[s][thread_index];
      starts[s][thread_index] = start;
      start += count;
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = 0; i < EACH; ++i) {
    const uint digit = digit_of(keys[i], shift), same = lanes_with(digit);
    const uint rank = popcount(same & below);
    y[starts[simdgroup][digit] + rank] = keys[i];
    simdgroup_barrier(mem_flags::mem_threadgroup);
    if (rank == 0) starts[simdgroup][digit] += popcount(same);
    simdgroup_barrier(mem_flags::mem_threadgroup);
  }
}
