// How often each of 256 values occurs: threadgroups count a share each in their own memory, where
// atomics of different bins do not meet, and write their counts out; a second dispatch adds these.
// Whole numbers add to the same in any order.
// dispatch: count  threadgroups=(SHARES)  threads=(TG)
// check: allow few-threadgroups it adds a few counts of 256 bins
// dispatch: total_counts  threads_in_grid=(256)  threads=(64)
// scratch: counts uint32 (SHARES, 256)
// tune: TG = 256, 128, 512
// tune: SHARES = 64, 16, 128
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(TG)]] void count(
    device const uint* x, device uint* counts, constant uint& n,
    uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint bins[256];
  for (uint i = thread_index; i < 256; i += TG) {
    atomic_store_explicit(&bins[i], 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = group * TG + thread_index; i < n; i += SHARES * TG) {
    atomic_fetch_add_explicit(&bins[min(x[i], 255u)], 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < 256; i += TG) {
    counts[group * 256 + i] = atomic_load_explicit(&bins[i], memory_order_relaxed);
  }
}

[[kernel]] void total_counts(device const uint* counts, device uint* y,
                             uint bin [[thread_position_in_grid]]) {
  uint sum = 0;
  for (uint share = 0; share < SHARES; ++share) {
    sum += counts[share * 256 + bin];
  }
  y[bin] = sum;
}
