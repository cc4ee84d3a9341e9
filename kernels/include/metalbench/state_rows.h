// Recurrences whose state is a matrix a head: a SIMD-group has a row of it, from the first token to
// the last, and lane l the columns l + 32 i, in registers. Rows never wait for each other; keys and
// queries, of which every row takes all, come from the cache, whole lines at a time. Rows have up
// to 256 columns; whole SIMD-groups of columns that a row does not have are skipped.
// Kernels advance pointers from token to token, as products of 64-bit indices are slow.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// What a lane has of as many numbers as the state has columns.
struct LaneColumns {
  static constant constexpr uint kMost = 8;
  float at[kMost];

  template <typename T>
  static LaneColumns of(device const T* from, uint cols, uint lane) {
    LaneColumns v;
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      v.at[i] = 0.0f;
      if (32 * i < cols && lane + 32 * i < cols) {
        v.at[i] = float(from[lane + 32 * i]);
      }
    }
    return v;
  }

  template <typename T>
  void store(device T* to, uint cols, uint lane) const {
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      if (32 * i < cols && lane + 32 * i < cols) {
        to[lane + 32 * i] = T(at[i]);
      }
    }
  }

  // this += factor * v
  void add(float factor, LaneColumns v, uint cols) {
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      if (32 * i < cols) {
        at[i] = fma(factor, v.at[i], at[i]);
      }
    }
  }

  void scale(float factor, uint cols) {
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      if (32 * i < cols) {
        at[i] *= factor;
      }
    }
  }

  void scale(LaneColumns v, uint cols) {
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      if (32 * i < cols) {
        at[i] *= v.at[i];
      }
    }
  }

  // The sum of products over all columns, which every lane gets.
  float dot(LaneColumns v, uint cols) const {
    float sum = 0.0f;
    UNROLLED
    for (uint i = 0; i < kMost; ++i) {
      if (32 * i < cols) {
        sum = fma(at[i], v.at[i], sum);
      }
    }
    return simd_sum(sum);
  }
};

}  // namespace metalbench
