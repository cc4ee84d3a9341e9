// Reductions of a row: over the lanes of a SIMD-group, then over SIMD-groups.
#pragma once
#include "stablehlo.h"

namespace shlo {

// Corrects the maximum or minimum over lanes for NaNs, which propagate, and for zeros: the zero
// with the bits `sign` is returned only if no lane has the other zero.
inline float with_corners(float found, float value, uint sign) {
  if (simd_any(isnan(value))) return as_type<float>(0x7fc00000u);
  const uint other = sign ^ 0x80000000u;
  if (found == 0.0f) return as_type<float>(simd_any(as_type<uint>(value) == other) ? other : sign);
  return found;
}
struct Add {
  template <typename T> T join(T a, T b) const { return a + b; }
  template <typename T> T lanes(T v) const { return simd_sum(v); }
};
struct Multiply {
  template <typename T> T join(T a, T b) const { return a * b; }
  template <typename T> T lanes(T v) const { return simd_product(v); }
};
struct Maximum {
  float join(float a, float b) const { return maximum(a, b); }
  int join(int a, int b) const { return max(a, b); }
  uint join(uint a, uint b) const { return max(a, b); }
  float lanes(float v) const { return with_corners(simd_max(v), v, 0x80000000u); }
  template <typename T> T lanes(T v) const { return simd_max(v); }
};
struct Minimum {
  float join(float a, float b) const { return minimum(a, b); }
  int join(int a, int b) const { return min(a, b); }
  uint join(uint a, uint b) const { return min(a, b); }
  float lanes(float v) const { return with_corners(simd_min(v), v, 0u); }
  template <typename T> T lanes(T v) const { return simd_min(v); }
};

// Reduces over a row of several SIMD-groups; `partial` has one element for each, and is used once.
template <uint SimdGroups, typename Join, typename T>
inline T reduce_row(Join op, T value, threadgroup T* partial, uint place) {
  value = op.lanes(value);
  if (place % 32u == 0u) partial[place / 32u] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  T result = partial[0];
  for (uint i = 1; i < SimdGroups; ++i) result = op.join(result, partial[i]);
  return result;
}

} // namespace shlo
