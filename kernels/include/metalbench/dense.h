// Dense layers of few rows, where a matrix product would be mostly padding: what bounds them is
// reading the weights once.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// Four columns of x W, W row-major. A SIMD-group has 32 columns from `first` on: eight lanes lie
// along a row of W, so that it is read in whole cache lines, and four rows are read at once. All
// lanes of a column have its sum in the end.
template <typename X, typename W>
inline float4 dense_quad(device const X* x, device const W* w, uint inputs, uint outputs,
                         uint first, uint lane) {
  const uint column = first + 4 * (lane % 8);
  float4 sum = 0.0f;
  for (uint i = lane / 8; i < inputs; i += 4) {
    sum = fma(float4(float(x[i])), load_quad(w + ulong(i) * outputs, column, outputs), sum);
  }
  sum += simd_shuffle_xor(sum, 8);
  return sum + simd_shuffle_xor(sum, 16);
}

// One number of x W^T, of a row of x and a row of W, by the lanes of a SIMD-group; all of them have
// it.
template <typename X, typename W>
inline float dense_feature(device const X* x, device const W* w, uint inputs, uint lane) {
  float4 sum = 0.0f;
  for (uint column = 4 * lane; column < inputs; column += 128) {
    sum = fma(load_quad(x, column, inputs), load_quad(w, column, inputs), sum);
  }
  return simd_sum(total(sum));
}

}  // namespace metalbench
