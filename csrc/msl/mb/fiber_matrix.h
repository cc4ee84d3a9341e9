// Matrices of SIMD-groups whose lanes are fibers.
#pragma once

#include "matrix_kernels.h"
#include "sync.h"

namespace mb {

// Whether the running lane keeps the matrices. `const` although it reads memory: a thread's lane
// never changes, and once clang knows, the loops of the other lanes fold away. The assembly of
// current() would make it convergent.
[[gnu::const, gnu::noinline, clang::noconvergent]] MB_UNTRACED static bool owns_matrices() {
  return fiber_of(reinterpret_cast<uptr>(__builtin_frame_address(0)))->lane == 0;
}

// What a lane brings to a multiplication, and its two elements of the result.
template <class D, class A, class B, class C>
struct MatrixOperand {
  vec<A, 2> a;
  vec<B, 2> b;
  vec<C, 2> c;
  vec<D, 2> d;

  MB_UNTRACED static void combine(void* const* operand, u32 mask) {
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
    matrix_multiply_accumulate(d, a, b, c);
    for (u32 i = 0; i < simd_width; ++i) {
      u32 at = matrix_first_element(i);
      if (mask >> i & 1) static_cast<MatrixOperand*>(operand[i])->d = vec<D, 2>(d[at], d[at + 1]);
    }
  }
};

template <class D, class A, class B, class C>
MB_FUNC vec<D, 2> product_sum_of_pairs(vec<A, 2> a, vec<B, 2> b, vec<C, 2> c) {
  using Operand = MatrixOperand<D, A, B, C>;
  Operand operand{a, b, c, vec<D, 2>(0)};
  meet(&operand, Operand::combine);
  return operand.d;
}

}  // namespace mb
