// Sums of all numbers so far, in one pass: a threadgroup looks back over the sums of those before it
// until one of them knows the sum of all up to it. Tickets make sure that those have started.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint THREADS = 256;
constant constexpr uint EACH = 4;  // of four numbers
constant constexpr uint SIMDGROUPS = THREADS / 32;
// A threadgroup's state is a sum of 30 bits, and of what: of its own numbers, or of all up to them.
constant constexpr uint OWN = 1u << 30;
constant constexpr uint ALL = 1u << 31;
constant constexpr uint SUM = OWN - 1;

kernel void clear(device uint* ticket, device uint* states, uint i [[thread_position_in_grid]]) {
  states[i] = 0;
  if (i == 0) ticket[0] = 0;
}

static uint sum_before(device atomic_uint* states, uint group) {
  uint sum = 0;
  while (group > 0) {
    const uint state = atomic_load_explicit(&states[group - 1], memory_order_relaxed);
    sum += state & SUM;
    if (state & ALL) break;
    if (state & OWN) --group;
  }
  return sum;
}

kernel void scan(device const uint4* x, device uint4* y, device atomic_uint* ticket,
                 device atomic_uint* states, uint thread_index [[thread_position_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  threadgroup uint group, before;
  threadgroup uint sums[SIMDGROUPS];
  if (thread_index == 0) group = atomic_fetch_add_explicit(ticket, 1, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const uint first = (group * THREADS + thread_index) * EACH;
  uint4 values[EACH];
  uint own = 0;
  for (uint i = 0; i < EACH; ++i) {
    values[i] = x[first + i];
    own += values[i].x + values[i].y + values[i].z + values[i].w;
  }
  const uint so_far = simd_prefix_inclusive_sum(own);
  if (lane == 31) sums[simdgroup] = so_far;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const uint part = lane < SIMDGROUPS ? sums[lane] : 0;
  const uint below = simd_sum(lane < simdgroup ? part : 0), total = simd_sum(part);

  if (thread_index == 0) {
    atomic_store_explicit(&states[group], OWN | total, memory_order_relaxed);
    before = sum_before(states, group);
    atomic_store_explicit(&states[group], ALL | (before + total), memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint sum = before + below + so_far - own;
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
