// Where a row's largest or smallest element is, the first of equals, one threadgroup a row: a
// thread meets its columns in ascending order and keeps the first best one. Lanes are combined with
// two SIMD-group functions, the best value and then the smallest index that attains it, and the
// SIMD-groups in the same way by the first thread: the order of execution cannot show.
#pragma once
#include "metalbench/quads.h"
#include "metalbench/reduce.h"

namespace metalbench {

struct Candidate {
  float value;
  uint index;
};

inline Candidate better(Candidate a, float value, uint index) {
  const bool wins = value > a.value;
  return Candidate{wins ? value : a.value, wins ? index : a.index};
}

template <uint SimdGroups>
struct ArgMemory {
  float values[SimdGroups];
  uint indices[SimdGroups];
};

// The index of the best candidate of all threads, of equal ones the first, to `y`.
template <uint SimdGroups>
inline void first_of_best(Candidate best, device uint* y,
                          threadgroup ArgMemory<SimdGroups>& partial, Place place) {
  const float value = simd_max(best.value);
  const uint index = simd_min(best.value == value ? best.index : UINT_MAX);
  if (place.lane == 0) {
    partial.values[place.simdgroup] = value;
    partial.indices[place.simdgroup] = index;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (place.thread_index == 0) {
    Candidate winner = {partial.values[0], partial.indices[0]};
    for (uint i = 1; i < SimdGroups; ++i) {
      const bool wins = partial.values[i] > winner.value ||
                        (partial.values[i] == winner.value && partial.indices[i] < winner.index);
      winner = wins ? Candidate{partial.values[i], partial.indices[i]} : winner;
    }
    // A row of nothing but -inf: all are equal, the first wins.
    *y = winner.index == UINT_MAX ? 0 : winner.index;
  }
}

template <uint SimdGroups>
inline void first_of_best(Candidate best, device uint* y,
                          threadgroup ArgMemory<SimdGroups>& partial, RowPlace place) {
  const float value = simd_max(best.value);
  const uint index = simd_min(best.value == value ? best.index : UINT_MAX);
  if (place.lane == 0) {
    partial.values[place.simdgroup] = value;
    partial.indices[place.simdgroup] = index;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (place.simdgroup == 0) {
    const float own = partial_of_lane(partial.values, place, -INFINITY);
    const uint own_index = partial_of_lane(partial.indices, place, UINT_MAX);
    const uint first = simd_min(own == simd_max(own) ? own_index : UINT_MAX);
    if (place.lane == 0) {
      *y = first == UINT_MAX ? 0 : first;
    }
  }
}

// Of sign times the elements the largest; of `cols` elements at `from`.
template <uint Threads, typename T, typename At>
inline void arg_of_row(float sign, device const T* from, device uint* y, uint cols,
                       threadgroup ArgMemory<Threads / 32>& partial, At place) {
  const uint threads = threads_of<Threads>(place);
  // No column yet. Lanes without one, or with nothing above -inf, lose every comparison of indices.
  Candidate best = {-INFINITY, UINT_MAX};
  if (cols % 4 == 0) {
    for (uint column = 4 * place.thread_index; column < cols; column += 4 * threads) {
      const float4 v = load_quad(from, column, cols);
      best = better(best, sign * v.x, column);
      best = better(best, sign * v.y, column + 1);
      best = better(best, sign * v.z, column + 2);
      best = better(best, sign * v.w, column + 3);
    }
  } else {
    for (uint column = place.thread_index; column < cols; column += threads) {
      best = better(best, sign * float(from[column]), column);
    }
  }

  first_of_best<Threads / 32>(best, y, partial, place);
}

}  // namespace metalbench
