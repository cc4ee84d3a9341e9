// simdgroup_matrix for sources that use thread_elements(): all lanes hold elements.
#pragma once

#include "matrix_pairs.h"
#if MB_VECTOR || MB_GPU
#include "shuffled_product.h"
#else
#include "cpu/fiber_product.h"
#endif

namespace mb {

template <class D, class A, class B>
MB_FUNC void matrix_product(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                            const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_matrix<D, 8, 8> zero;
  zero.mb_pair = vec<D, 2>(0);
  matrix_product_sum(d, a, b, zero);
}

}  // namespace mb

#include "matrix_functions.h"
