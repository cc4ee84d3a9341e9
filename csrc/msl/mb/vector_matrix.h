// Matrices of SIMD-groups whose lanes are those of vectors.
#pragma once

#include "matrix_kernels.h"
#include "simdgroup.h"

namespace mb {

// All lanes do the same to the same elements, which comes to doing it once.
MB_FUNC bool owns_matrices() { return true; }

// The lane that has an element, where matrix_first_element() puts it.
MB_FUNC constexpr u32 lane_of_element(u32 row, u32 col) {
  return (row & 4) * 4 + (col & 4) * 2 + (row & 3) * 2 + (col & 2) / 2;
}

// d = a b + c of the own two elements, in float and in the order of matrix_multiply_accumulate().
// The lanes that the factors come from depend on nothing but the own one: permutations of vectors.
template <class D, class A, class B, class C>
MB_FUNC vec<D, 2> product_sum_of_pairs(vec<A, 2> a, vec<B, 2> b, vec<C, 2> c) {
  const float left[2] = {convert<float>(a.x), convert<float>(a.y)};
  const float right[2] = {convert<float>(b.x), convert<float>(b.y)};
  const u32 own_row = lane() & lane_of_element(7, 0), own_columns = lane() & lane_of_element(0, 7);
  float x = convert<float>(c.x), y = convert<float>(c.y);
#pragma clang loop unroll(full)
  for (u32 k = 0; k < 8; ++k) {
    const float factor = shuffle_element(left[k % 2], own_row | lane_of_element(0, k));
    const u32 from = own_columns | lane_of_element(k, 0);
    x += factor * shuffle_element(right[0], from);
    y += factor * shuffle_element(right[1], from);
  }
  return vec<D, 2>(convert<D>(x), convert<D>(y));
}

}  // namespace mb
