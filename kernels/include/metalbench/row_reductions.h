// Rows joined to one number each, one threadgroup a row: a `Join` says what quads, lanes and
// SIMD-groups are joined by. NaN anywhere in a row is its largest and its smallest, as in NumPy and
// MLX; Metal's own max and min drop it.
#pragma once
#include "metalbench/reduce.h"
#include "metalbench/rows.h"

namespace metalbench {

struct SumJoin {
  float neutral() const { return 0.0f; }
  template <typename T>
  T join(T a, T b) const {
    return a + b;
  }
  float lanes(float v) const { return simd_sum(v); }
};

struct ProductJoin {
  float neutral() const { return 1.0f; }
  template <typename T>
  T join(T a, T b) const {
    return a * b;
  }
  float lanes(float v) const { return simd_product(v); }
};

struct MaxJoin {
  float neutral() const { return -INFINITY; }
  template <typename T>
  T join(T a, T b) const {
    return select(b, a, a > b || isnan(a));
  }
  float lanes(float v) const { return simd_any(isnan(v)) ? NAN : simd_max(v); }
};

struct MinJoin {
  float neutral() const { return INFINITY; }
  template <typename T>
  T join(T a, T b) const {
    return select(b, a, a < b || isnan(a));
  }
  float lanes(float v) const { return simd_any(isnan(v)) ? NAN : simd_min(v); }
};

// What SIMD-groups have left in `partial`, joined by every thread.
template <uint SimdGroups, typename Join>
inline float joined_partials(Join op, threadgroup const float* partial, Place) {
  float value = partial[0];
  for (uint i = 1; i < SimdGroups; ++i) {
    value = op.join(value, partial[i]);
  }
  return value;
}
template <uint SimdGroups, typename Join>
inline float joined_partials(Join op, threadgroup const float* partial, RowPlace place) {
  return op.lanes(partial_of_lane(partial, place, op.neutral()));
}

template <uint Threads, typename Join, typename T, typename At>
inline float joined_row(Join op, device const T* x, uint row, uint cols, threadgroup float* partial,
                        At place) {
  const uint threads = threads_of<Threads>(place);
  const Row<T> source = row_of(x, row, cols, op.neutral());
  float4 all = op.neutral();
  for (uint column = 4 * place.thread_index; column < cols; column += 4 * threads) {
    all = op.join(all, source(column));
  }
  const float2 pairs = op.join(all.xy, all.zw);
  const float value = op.lanes(op.join(pairs.x, pairs.y));
  if (place.lane == 0) {
    partial[place.simdgroup] = value;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return joined_partials<Threads / 32>(op, partial, place);
}

}  // namespace metalbench
