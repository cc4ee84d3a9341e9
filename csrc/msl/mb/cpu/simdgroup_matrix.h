// simdgroup_matrix: 8x8 matrices of a SIMD-group. Lane 0 owns all 64 elements and does all the
// work, so that no lane waits for another; matrix_distributed.h distributes the elements instead.
#pragma once

#include "matrix_kernels.h"
#include "matrix_shadow.h"
#include "../sync.h"

namespace metal {

template <class T, int Cols, int Rows = Cols>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "Metal has simdgroup_matrix<T, 8, 8> only");
  using storage_type = vec<T, 2>;  // type of thread_elements(), unused here
  alignas(32) T mb_element[64];

  simdgroup_matrix() = default;
  // Make the diagonal matrix with this value.
  MB_FUNC explicit simdgroup_matrix(T diagonal) {
    if (mb::owns_matrices()) mb::matrix_diagonal(mb_element, diagonal);
  }
  MB_FUNC simdgroup_matrix(const simdgroup_matrix& m) { *this = m; }
  MB_FUNC simdgroup_matrix& operator=(const simdgroup_matrix& m) {
    if (mb::owns_matrices()) __builtin_memcpy(mb_element, m.mb_element, sizeof mb_element);
    return *this;
  }
};

}  // namespace metal

namespace mb {

using metal::simdgroup_matrix;

template <class T>
MB_FUNC void matrix_set(simdgroup_matrix<T, 8, 8>& m, T value, bool diagonal) {
  if (!owns_matrices()) return;
  if (diagonal) matrix_diagonal(m.mb_element, value);
  else matrix_fill(m.mb_element, value);
}

template <class T, class U>
MB_FUNC void matrix_read(simdgroup_matrix<T, 8, 8>& m, const U* source, long stride,
                         bool transpose) {
  expect_all_lanes();
  if (!owns_matrices()) return;
  for (int i = 0; MB_CHECKED && i < 8; ++i) MB_ELEMENTS(source + i * stride, 8, read);
  if (transpose) matrix_load_transposed(m.mb_element, source, stride);
  else matrix_load(m.mb_element, source, stride);
}

template <class T, class U>
MB_FUNC void matrix_write(simdgroup_matrix<T, 8, 8>& m, U* target, long stride, bool transpose) {
  expect_all_lanes();
  if (!owns_matrices()) return;
#if MB_CHECKED
  expect_given(m.mb_element, sizeof m.mb_element,
               "an uninitialised value is stored from a matrix");
  // Each row is written before the next is checked.
  U rows[64];
  if (transpose) matrix_store_transposed(m.mb_element, rows, 8);
  else matrix_store(m.mb_element, rows, 8);
  for (int i = 0; i < 8; ++i) {
    MB_ELEMENTS(target + i * stride, 8, write);
    matrix_store_row(rows + 8 * i, target + i * stride);
  }
#else
  if (transpose) matrix_store_transposed(m.mb_element, target, stride);
  else matrix_store(m.mb_element, target, stride);
#endif
}

template <class D, class A, class B>
MB_FUNC void matrix_product(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                            const simdgroup_matrix<B, 8, 8>& b) {
  expect_all_lanes();
  if (!owns_matrices()) return;
  MatrixGaps gaps;
  find_product_gaps(&gaps, a.mb_element, b.mb_element, static_cast<const D*>(nullptr));
  matrix_multiply(d.mb_element, a.mb_element, b.mb_element);
  set_product_gaps(&gaps, d.mb_element);
}

template <class D, class A, class B, class C>
MB_FUNC void matrix_product_sum(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                const simdgroup_matrix<B, 8, 8>& b,
                                const simdgroup_matrix<C, 8, 8>& c) {
  expect_all_lanes();
  if (!owns_matrices()) return;
  MatrixGaps gaps;
  find_product_gaps(&gaps, a.mb_element, b.mb_element, c.mb_element);
  matrix_multiply_accumulate(d.mb_element, a.mb_element, b.mb_element, c.mb_element);
  set_product_gaps(&gaps, d.mb_element);
}

}  // namespace mb

#include "../matrix_functions.h"
