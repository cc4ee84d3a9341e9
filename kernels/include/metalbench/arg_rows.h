// Where a row's largest or smallest element is, the first of equals, one threadgroup a row: a
// thread meets its columns in ascending order and keeps the first best one. Lanes are combined with
// two SIMD-group functions, the best value and then the smallest index that attains it, and the
// SIMD-groups in the same way by the first thread: the order of execution cannot show. The first NaN
// is better than all numbers, as in NumPy and in MLX on a CPU.
#pragma once
#include "metalbench/quads.h"
#include "metalbench/reduce.h"
#include "metalbench/sort.h"

namespace metalbench {

struct Candidate {
  float value;
  uint index;
};

inline Candidate better(Candidate a, float value, uint index) {
  const bool wins = value > a.value;
  return Candidate{wins ? value : a.value, wins ? index : a.index};
}

// Of quads only the largest element is compared: which one it is, is asked at the end.
inline float best_of(float4 v) {
  const float2 pair = select(v.zw, v.xy, v.xy > v.zw);
  return pair.x > pair.y ? pair.x : pair.y;
}

template <uint SimdGroups>
struct ArgMemory {
  uint keys[SimdGroups];
  uint indices[SimdGroups];
};

// Leaves the best candidate of each SIMD-group in `partial`, for all threads.
template <uint SimdGroups, typename At>
inline void join_lanes(Candidate best, threadgroup ArgMemory<SimdGroups>& partial, At place) {
  // As an integer, of which NaN is the largest: what simd_max() makes of NaN is undefined.
  const uint own = sort_key(best.value);
  const uint key = simd_max(own);
  const uint index = simd_min(own == key ? best.index : UINT_MAX);
  if (place.lane == 0) {
    partial.keys[place.simdgroup] = key;
    partial.indices[place.simdgroup] = index;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The index of the best candidate of all threads, of equal ones the first, to `y`.
template <uint SimdGroups>
inline void first_of_best(Candidate best, device uint* y,
                          threadgroup ArgMemory<SimdGroups>& partial, Place place) {
  join_lanes(best, partial, place);
  if (place.thread_index == 0) {
    uint most = partial.keys[0], first = partial.indices[0];
    for (uint i = 1; i < SimdGroups; ++i) {
      const bool wins =
          partial.keys[i] > most || (partial.keys[i] == most && partial.indices[i] < first);
      most = wins ? partial.keys[i] : most;
      first = wins ? partial.indices[i] : first;
    }
    // A row of nothing but -inf: all are equal, the first wins.
    *y = first == UINT_MAX ? 0 : first;
  }
}

template <uint SimdGroups>
inline void first_of_best(Candidate best, device uint* y,
                          threadgroup ArgMemory<SimdGroups>& partial, RowPlace place) {
  join_lanes(best, partial, place);
  if (place.simdgroup == 0) {
    const uint most = partial_of_lane(partial.keys, place, 0u);
    const uint own_index = partial_of_lane(partial.indices, place, UINT_MAX);
    const uint first = simd_min(most == simd_max(most) ? own_index : UINT_MAX);
    if (place.lane == 0) {
      *y = first == UINT_MAX ? 0 : first;
    }
  }
}

// The first NaN of what a thread has of a row, `width` neighbours at a time.
template <typename T>
inline Candidate first_nan(device const T* from, uint first, uint width, uint threads, uint cols) {
  for (uint column = first; column < cols; column += width * threads) {
    for (uint i = 0; i < width; ++i) {
      if (isnan(float(from[column + i]))) {
        return Candidate{NAN, column + i};
      }
    }
  }
  return Candidate{-INFINITY, UINT_MAX};
}

// Of sign times the elements the largest; of `cols` elements at `from`.
template <uint Threads, typename T, typename At>
inline void arg_of_row(float sign, device const T* from, device uint* y, uint cols,
                       threadgroup ArgMemory<Threads / 32>& partial, At place) {
  const uint threads = threads_of<Threads>(place);
  // No column yet. Lanes without one, or with nothing above -inf, lose every comparison of indices.
  Candidate best = {-INFINITY, UINT_MAX};
  bool has_nan = false;
  if (cols % 4 == 0) {
    for (uint column = 4 * place.thread_index; column < cols; column += 4 * threads) {
      const float4 v = load_quad(from, column, cols);
      has_nan |= isunordered(v.x, v.y) | isunordered(v.z, v.w);
      best = better(best, best_of(sign * v), column);
    }
    if (best.index != UINT_MAX) {
      const float4 v = sign * load_quad(from, best.index, cols);
      const uint behind = v.y == best.value ? 1 : v.z == best.value ? 2 : 3;
      best.index += v.x == best.value ? 0 : behind;
    }
  } else {
    for (uint column = place.thread_index; column < cols; column += threads) {
      const float v = float(from[column]);
      has_nan |= isnan(v);
      best = better(best, sign * v, column);
    }
  }
  // Which one it is, is asked only where there is one: `best` would need two more comparisons.
  if (has_nan) {
    const uint width = cols % 4 == 0 ? 4 : 1;
    best = first_nan(from, width * place.thread_index, width, threads, cols);
  }

  first_of_best<Threads / 32>(best, y, partial, place);
}

}  // namespace metalbench
