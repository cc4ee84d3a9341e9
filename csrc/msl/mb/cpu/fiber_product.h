// Product of matrices whose elements are distributed over fibers, as a SIMD-group function.
#pragma once

#include "../matrix_pairs.h"
#include "lane_shadow.h"
#include "matrix_kernels.h"
#include "matrix_shadow.h"

namespace mb {

// A lane's operand of a multiplication, and its two elements of the result.
template <class D, class A, class B, class C>
struct MatrixOperand {
  vec<A, 2> a;
  vec<B, 2> b;
  vec<C, 2> c;
  vec<D, 2> d;

  MB_COMBINE static void combine(void* const* operand, u32 mask) {
#if MB_CHECKED
    expect_lanes(operand, mask);
#endif
    A a[64];
    B b[64];
    C c[64];
    D d[64];
    for (u32 i = 0; i < simd_width; ++i) {
      u32 at = matrix_first_element(i);
      MatrixOperand own{};
      if (mask >> i & 1) own = *static_cast<MatrixOperand*>(operand[i]);
      a[at] = own.a.x, a[at + 1] = own.a.y;
      b[at] = own.b.x, b[at + 1] = own.b.y;
      c[at] = own.c.x, c[at + 1] = own.c.y;
    }
    MatrixGaps gaps;
    find_gaps(&gaps, operand, mask);
    matrix_multiply_accumulate(d, a, b, c);
    for (u32 i = 0; i < simd_width; ++i) {
      u32 at = matrix_first_element(i);
      if (mask >> i & 1) static_cast<MatrixOperand*>(operand[i])->d = vec<D, 2>(d[at], d[at + 1]);
    }
    hand_gaps(&gaps, operand, mask);
  }

 private:
#if MB_SHADOW
  MB_COMBINE static void find_gaps(MatrixGaps* gaps, void* const* operand, u32 mask) {
    MatrixGaps left, right, sum;
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const u32 i = static_cast<u32>(__builtin_ctz(rest)), at = matrix_first_element(i);
      const auto* own = static_cast<const MatrixOperand*>(operand[i]);
      const Fiber* fiber = fiber_of(reinterpret_cast<uptr>(own));
      add_gaps(&left, reinterpret_cast<const A*>(&own->a), 2, at, fiber);
      add_gaps(&right, reinterpret_cast<const B*>(&own->b), 2, at, fiber);
      add_gaps(&sum, reinterpret_cast<const C*>(&own->c), 2, at, fiber);
    }
    product_gaps(gaps, &left, &right, &sum);
  }
  MB_COMBINE static void hand_gaps(const MatrixGaps* gaps, void* const* operand, u32 mask) {
    for (u32 rest = gaps->elements == 0 ? 0 : mask; rest != 0; rest &= rest - 1) {
      const u32 i = static_cast<u32>(__builtin_ctz(rest));
      auto* own = static_cast<MatrixOperand*>(operand[i]);
      set_gaps(gaps, reinterpret_cast<D*>(&own->d), 2, matrix_first_element(i),
               fiber_of(reinterpret_cast<uptr>(own)));
    }
  }
#else
  MB_FUNC static void find_gaps(MatrixGaps*, void* const*, u32) {}
  MB_FUNC static void hand_gaps(const MatrixGaps*, void* const*, u32) {}
#endif
};

template <class D, class A, class B, class C>
MB_FUNC void matrix_product_sum(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                const simdgroup_matrix<B, 8, 8>& b,
                                const simdgroup_matrix<C, 8, 8>& c) {
  using Operand = MatrixOperand<D, A, B, C>;
  Operand operand{a.mb_pair, b.mb_pair, c.mb_pair, vec<D, 2>(0)};
  meet(&operand, Operand::combine);
  d.mb_pair = operand.d;
}

}  // namespace mb
