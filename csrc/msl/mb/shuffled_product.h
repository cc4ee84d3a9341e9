// Product of matrices whose elements are distributed over all lanes, by shuffles.
#pragma once

#include "matrix_pairs.h"
#include "simdgroup.h"

namespace mb {

// Return the lane that holds an element, as in matrix_first_element().
MB_FUNC constexpr u32 lane_of_element(u32 row, u32 col) {
  return (row & 4) * 4 + (col & 4) * 2 + (row & 3) * 2 + (col & 2) / 2;
}

// a b + c, contracted as the compiler does it for an unknown c. Otherwise it might round the other
// of two products.
MB_FUNC float multiply_add(float a, float b, float c) {
#if MB_FAST_MATH && MB_FUSES
  return __builtin_fmaf(a, b, c);
#else
#pragma clang fp reassociate(off)
  return a * b + c;
#endif
}

// d = a b + c for the lane's two elements, in float and in the order of
// matrix_multiply_accumulate(). The source lanes of the factors depend only on the lane: vector
// permutations.
template <class D, class A, class B, class C>
MB_FUNC void matrix_product_sum(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                const simdgroup_matrix<B, 8, 8>& b,
                                const simdgroup_matrix<C, 8, 8>& c) {
  const float left[2] = {convert<float>(a.mb_pair.x), convert<float>(a.mb_pair.y)};
  const float right[2] = {convert<float>(b.mb_pair.x), convert<float>(b.mb_pair.y)};
  const u32 own_row = lane() & lane_of_element(7, 0), own_columns = lane() & lane_of_element(0, 7);
  float x = convert<float>(c.mb_pair.x), y = convert<float>(c.mb_pair.y);
#pragma clang loop unroll(full)
  for (u32 k = 0; k < 8; ++k) {
    const float factor = shuffle_element(left[k % 2], own_row | lane_of_element(0, k));
    const u32 from = own_columns | lane_of_element(k, 0);
    x = multiply_add(factor, shuffle_element(right[0], from), x);
    y = multiply_add(factor, shuffle_element(right[1], from), y);
  }
  d.mb_pair = vec<D, 2>(convert<D>(x), convert<D>(y));
}

}  // namespace mb
