// Reductions of a threadgroup: lanes are joined by a SIMD-group function, SIMD-groups through one
// value each in threadgroup memory. Behind the one barrier every thread joins these few values
// itself, all in the same order: that is cheaper than a second round with a second barrier, and
// every thread has the result. SIMD-groups have 32 lanes on all of Apple's GPUs.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

// Where a thread is in its threadgroup.
struct Place {
  uint thread_index;
  uint lane;
  uint simdgroup;
};

// What tells a kernel its threads' places.
#define PLACE_ARGUMENTS                                                                       \
  uint thread_index [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], \
      uint simdgroup [[simdgroup_index_in_threadgroup]]
#define PLACE \
  metalbench::Place { thread_index, lane, simdgroup }

// The sum of `value` over all threads. `partial` has SimdGroups elements, and may be used again
// only behind another barrier: a kernel that reduces twice has two of them.
template <uint SimdGroups, typename T>
inline T group_sum(T value, threadgroup T* partial, Place place) {
  value = simd_sum(value);
  if (SimdGroups == 1) {
    return value;
  }
  if (place.lane == 0) {
    partial[place.simdgroup] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  T result = partial[0];
  for (uint i = 1; i < SimdGroups; ++i) {
    result += partial[i];
  }
  return result;
}

}  // namespace metalbench
