// Functions of simdgroup_matrix, for both distributions of the elements.
#pragma once

#include "names.h"

namespace metal {

using simdgroup_float8x8 = simdgroup_matrix<float, 8, 8>;
using simdgroup_half8x8 = simdgroup_matrix<half, 8, 8>;
using simdgroup_bfloat8x8 = simdgroup_matrix<bfloat, 8, 8>;

template <class T, int C = 8, int R = 8>
MB_FUNC simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(mb::same<T> value) {
  simdgroup_matrix<T, C, R> m;
  mb::matrix_set(m, value, false);
  return m;
}

// `origin` is (column, row), in elements of the array in memory.
template <class T, class U>
MB_FUNC void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const U* source, ulong stride = 8,
                            ulong2 origin = 0, bool transpose = false) {
  mb::matrix_read(m, mb::plain(source) + origin.y * stride + origin.x, stride, transpose);
}
template <class T, class U>
MB_FUNC void simdgroup_load(simdgroup_matrix<T, 8, 8>& m, const volatile U* source,
                            ulong stride = 8, ulong2 origin = 0, bool transpose = false) {
  simdgroup_load(m, const_cast<const U*>(source), stride, origin, transpose);
}
template <class T, class U>
MB_FUNC void simdgroup_store(simdgroup_matrix<T, 8, 8> m, U* target, ulong stride = 8,
                             ulong2 origin = 0, bool transpose = false) {
  mb::matrix_write(m, mb::plain(target) + origin.y * stride + origin.x, stride, transpose);
}

template <class D, class A, class B>
MB_FUNC void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                const simdgroup_matrix<B, 8, 8>& b) {
  mb::matrix_product(d, a, b);
}
template <class D, class A, class B, class C>
MB_FUNC void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d,
                                           const simdgroup_matrix<A, 8, 8>& a,
                                           const simdgroup_matrix<B, 8, 8>& b,
                                           const simdgroup_matrix<C, 8, 8>& c) {
  mb::matrix_product_sum(d, a, b, c);
}
template <class A, class B>
MB_FUNC simdgroup_matrix<A, 8, 8> operator*(const simdgroup_matrix<A, 8, 8>& a,
                                            const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_matrix<A, 8, 8> d;
  mb::matrix_product(d, a, b);
  return d;
}

}  // namespace metal
