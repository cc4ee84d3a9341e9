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

// The same in a threadgroup that is as large as its row is long: how many SIMD-groups it has is
// known when it runs.
struct RowPlace {
  uint thread_index;
  uint lane;
  uint simdgroup;
  uint simdgroups;
};

// The threads of a threadgroup: `Threads`, unless its size comes from the length of a row.
template <uint Threads>
inline uint threads_of(Place) {
  return Threads;
}
template <uint Threads>
inline uint threads_of(RowPlace place) {
  return 32 * place.simdgroups;
}

template <bool HasAnySize>
struct PlaceForRow {
  static RowPlace of(Place place, uint simdgroups) {
    return {place.thread_index, place.lane, place.simdgroup, simdgroups};
  }
};
template <>
struct PlaceForRow<false> {
  static Place of(Place place, uint) { return place; }
};

// For kernels whose threadgroups have from `least` to `most` threads, as many as a row has quads:
//   threads=(min(TG, max(LEAST, 32 * ceil_div(cols, 128))))
// A short row then leaves no lane idle, and a long one has a whole core. Where threads keep KEEP
// quads, the divisor is 128 * KEEP: else half of what they keep or more would be beyond a row of
// 4096. Where `least` is not below `most` the number is a constant, and loops over SIMD-groups can
// be unrolled.
#define ROW_PLACE_ARGUMENTS PLACE_ARGUMENTS, uint simdgroups [[simdgroups_per_threadgroup]]
#define ROW_PLACE(least, most) metalbench::PlaceForRow<((least) < (most))>::of(PLACE, simdgroups)

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

// What SIMD-group number `lane` has left in `partial`, `neutral` in lanes without one: up to 32
// values are joined by one more SIMD-group function, in every SIMD-group, without a second barrier.
template <typename T>
inline T partial_of_lane(threadgroup const T* partial, RowPlace place, T neutral) {
  if (place.lane < place.simdgroups) {
    return partial[place.lane];
  }
  return neutral;
}

template <uint SimdGroups, typename T>
inline T group_sum(T value, threadgroup T* partial, RowPlace place) {
  value = simd_sum(value);
  if (place.lane == 0) {
    partial[place.simdgroup] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return simd_sum(partial_of_lane(partial, place, T(0)));
}

}  // namespace metalbench
