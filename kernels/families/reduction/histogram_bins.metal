// How often each of any number of values occurs, added to earlier counts. Up to 4096 of them threadgroups count a share each in
// their memory and add what they have found at the end, one atomic a value; more are counted in
// device memory, where they rarely meet. Whole numbers add to the same in any order.
// dispatch: copy_counts  threads_in_grid=(bins)  threads=(256)
// dispatch: count  threadgroups=(SHARES)  threads=(TG)  threadgroup_bytes=(local: 32 * ceil_div(min(bins, 4096), 8))
// tune: TG = 256, 128, 512
// tune: SHARES = 64, 16, 128, 256
#include <metal_stdlib>
using namespace metal;

constant constexpr uint MOST_LOCAL = 4096;

[[kernel]] void copy_counts(device const uint* earlier, device uint* y,
                            uint bin [[thread_position_in_grid]]) {
  y[bin] = earlier[bin];
}

[[kernel, max_total_threads_per_threadgroup(TG)]] void count(
    device const uint* x, device atomic_uint* y, constant uint& n, constant uint& bins,
    threadgroup atomic_uint* local [[threadgroup(0)]], uint group [[threadgroup_position_in_grid]],
    uint thread_index [[thread_index_in_threadgroup]]) {
  if (bins > MOST_LOCAL) {
    for (uint i = group * TG + thread_index; i < n; i += SHARES * TG) {
      atomic_fetch_add_explicit(&y[min(x[i], bins - 1)], 1u, memory_order_relaxed);
    }
    return;
  }
  for (uint i = thread_index; i < bins; i += TG) {
    atomic_store_explicit(&local[i], 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = group * TG + thread_index; i < n; i += SHARES * TG) {
    atomic_fetch_add_explicit(&local[min(x[i], bins - 1)], 1u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint i = thread_index; i < bins; i += TG) {
    const uint found = atomic_load_explicit(&local[i], memory_order_relaxed);
    if (found > 0) {
      atomic_fetch_add_explicit(&y[i], found, memory_order_relaxed);
    }
  }
}
