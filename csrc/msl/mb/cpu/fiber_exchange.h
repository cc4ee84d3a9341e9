// Operands of matrix products that other fibers of the SIMD-group hold.
#pragma once

#include "../tensor_operands.h"
#include "given.h"
#include "lane_shadow.h"

namespace mb {

// The matrix of a SIMD-group, which the last lane that arrives copies to the first lane's stack.
template <class Layout, class E>
struct FiberMatrix {
  const E* elements;
  const E* shared;
  E whole[Layout::rows * Layout::columns];

  MB_COMBINE static void combine(void* const* operand, u32 mask) {
#if MB_CHECKED
    expect_lanes(operand, mask);
#endif
    E* whole = static_cast<FiberMatrix*>(operand[__builtin_ctz(mask)])->whole;
    for (int row = 0; row < Layout::rows; ++row) {
      for (int column = 0; column < Layout::columns; ++column) {
        const u32 owner = Layout::owner(row, column);
        const int index = Layout::owned_index(row, column);
        E value = E(0);
        if (mask >> owner & 1) value = static_cast<FiberMatrix*>(operand[owner])->elements[index];
        whole[row * Layout::columns + column] = value;
      }
    }
    for (u32 rest = mask; rest != 0; rest &= rest - 1)
      static_cast<FiberMatrix*>(operand[__builtin_ctz(rest)])->shared = whole;
  }
};

// Another lane's stack: reads of it are not a thread's accesses of memory.
template <class E>
#if MB_CHECKED
[[gnu::noinline, clang::noconvergent]] MB_UNTRACED MB_NOT_SHADOWED static
#else
MB_FUNC
#endif
    E peek(const E* matrix, int at) {
  return matrix[at];
}

// `transposed`: the matrix is stored with k as its rows. finish() lets the owner of the copy go on.
template <class Layout, class E, bool transposed>
struct LaneOperand {
  static constexpr bool is_memory = false;
  using Element = E;
  static constexpr int outer = transposed ? Layout::columns : Layout::rows;
  static constexpr int depth = transposed ? Layout::rows : Layout::columns;
  FiberMatrix<Layout, E> matrix;

  MB_FUNC explicit LaneOperand(const E* own) {
    matrix.elements = own;
    matrix.shared = own;
    meet(&matrix, FiberMatrix<Layout, E>::combine);
  }
  LaneOperand(const LaneOperand&) = delete;
  template <class Sum>
  MB_FUNC Sum read(long at, long k) const {
    const long row = transposed ? k : at, column = transposed ? at : k;
    return static_cast<Sum>(peek(matrix.shared, int(row * Layout::columns + column)));
  }
  MB_FUNC void finish() const { meet(nullptr, nullptr); }
};

}  // namespace mb
