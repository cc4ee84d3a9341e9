// Marked elements of an array of any length are numbered in three dispatches: marks of blocks are
// counted, counts of the blocks before added by one threadgroup, and places within a block found by
// prefix sums. No threadgroup waits for another one.
#pragma once
#include "metalbench/reduce.h"

namespace metalbench {

inline uint count_of(bool4 marks) {
  return uint(marks.x) + uint(marks.y) + uint(marks.z) + uint(marks.w);
}

// The sum of the values of all threads before this one. `sums` has SimdGroups elements.
template <uint SimdGroups>
inline uint sum_of_threads_before(uint value, threadgroup uint* sums, Place place) {
  const uint before = simd_prefix_exclusive_sum(value);
  if (place.lane == 31) {
    sums[place.simdgroup] = before + value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint sum = before;
  for (uint i = 0; i < SimdGroups; ++i) {
    // check: allow registers a radix sort has the keys of a thread in registers meanwhile
    sum += i < place.simdgroup ? sums[i] : 0;
  }
  return sum;
}

// Replaces counts by the sums of those before, and returns the sum of all. A threadgroup of Threads
// threads has the counts.
template <uint Threads>
inline uint add_counts_before(device uint* counts, uint count,
                              threadgroup uint (&sums)[2][Threads / 32], Place place) {
  uint carry = 0, set = 0;
  for (uint first = 0; first < count; first += Threads) {
    const uint at = first + place.thread_index;
    const uint own = at < count ? counts[at] : 0;
    const uint before = sum_of_threads_before<Threads / 32>(own, sums[set], place);
    if (at < count) {
      counts[at] = carry + before;
    }
    for (uint i = 0; i < Threads / 32; ++i) {
      carry += sums[set][i];
    }
    set ^= 1;
  }
  return carry;
}

}  // namespace metalbench
