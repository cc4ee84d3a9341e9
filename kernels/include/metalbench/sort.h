// Bitonic sorting of one row in threadgroup memory: compare and exchange at distances that are
// powers of two, the same for all data. Floats are sorted by integers of the same order, with NaN
// last and both zeros alike.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

inline uint sort_key(float v) {
  const uint bits = as_type<uint>(v + 0.0f);
  const uint key = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return isnan(v) ? 0xffffffffu : key;
}

inline float of_sort_key(uint key) {
  return as_type<float>(key & 0x80000000u ? key & 0x7fffffffu : ~key);
}

inline uint power_of_two_from(uint n) { return n <= 1 ? 1 : 1u << (32 - clz(n - 1)); }

// The `n` keys, ascending; a power of two. Threads are behind a barrier at the end.
template <uint Threads, typename Key>
inline void bitonic_sort(threadgroup Key* keys, uint n, uint thread_index) {
  for (uint size = 2; size <= n; size *= 2) {
    for (uint distance = size / 2; distance > 0; distance /= 2) {
      threadgroup_barrier(mem_flags::mem_threadgroup);
      for (uint i = thread_index; i < n / 2; i += Threads) {
        const uint low = 2 * i - (i & (distance - 1));
        const Key a = keys[low];
        const Key b = keys[low + distance];
        const bool swap = (a > b) == ((low & size) == 0);
        keys[low] = swap ? b : a;
        keys[low + distance] = swap ? a : b;
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

}  // namespace metalbench
