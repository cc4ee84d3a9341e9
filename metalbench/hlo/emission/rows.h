// A number that each thread has of a row, joined over the row: by lanes, then by SIMD-groups.
#pragma once
#include "stablehlo.h"

namespace shlo {

// By exchange, so that every lane has the result and joins in the same pairs.
template <typename Join, typename T> inline T exchanged(Join op, T value) {
  for (ushort distance = 16; distance > 0; distance /= 2) {
    value = op.join(value, simd_shuffle_xor(value, distance));
  }
  return value;
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
  template <typename T> T lanes(T v) const { return exchanged(*this, v); }
};
struct Minimum {
  float join(float a, float b) const { return minimum(a, b); }
  int join(int a, int b) const { return min(a, b); }
  uint join(uint a, uint b) const { return min(a, b); }
  template <typename T> T lanes(T v) const { return exchanged(*this, v); }
};

// Of a row that several SIMD-groups have: `partial` has an element for each, and is used once.
template <uint SimdGroups, typename Join, typename T>
inline T row_joined(Join op, T value, threadgroup T* partial, uint place) {
  value = op.lanes(value);
  if (place % 32u == 0u) partial[place / 32u] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  T result = partial[0];
  for (uint i = 1; i < SimdGroups; ++i) result = op.join(result, partial[i]);
  return result;
}

} // namespace shlo
