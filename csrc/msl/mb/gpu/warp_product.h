// Products of matrices of half, bfloat or float by the tensor cores of one warp, of operands in
// memory or in registers. Sums and operands in registers have the layout of the tensor cores, so
// that the sums of one product are the left operand of another without any exchange. They are
// products of 8 x 8 matrices (tensor_cores.h): a lane p has row p / 4 and columns p % 4 * 2 + {0,
// 1} of the left factor and of the sums, and these elements of the transposed right factor.
#pragma once

#include "tensor_fragments.h"

namespace mb {

// A factor in memory from a row (left) or column (right) `outer` on, and from `k` on. `by_depth`:
// elements that follow each other are along k. `whole`: the product has all elements of the
// operand, and the distance of elements that follow each other is 1.
template <bool by_depth, bool whole, class E>
MB_FUNC FactorPair<E> read_factor(const MemoryOperand<E>& from, int outer, int k, int depth) {
  const int row = outer + int(lane()) / 4, column = k + int(lane()) % 4 * 2;
  if constexpr (whole && sizeof(E) == 2) {
    const E* const first = from.data + (from.origin + outer * (by_depth ? from.outer_stride : 1) +
                                        k * (by_depth ? 1 : from.depth_stride));
    return FactorPair<E>(
        mb_matrix_word(first, by_depth ? from.outer_stride : from.depth_stride, !by_depth));
  } else if constexpr (whole) {
    const E* const first = from.data + (from.origin + row * (by_depth ? from.outer_stride : 1) +
                                        column * (by_depth ? 1 : from.depth_stride));
    return FactorPair<E>(first[0], first[by_depth ? 1 : from.depth_stride]);
  } else {
    const auto element = [&](int i) __attribute__((always_inline)) {
      const bool exists = row < from.outer && column + i < depth;
      return exists ? from.data[from.origin + row * from.outer_stride +
                                (column + i) * from.depth_stride]
                    : E(0);
    };
    return FactorPair<E>(element(0), element(1));
  }
}

// The same in registers. `outer` and `k` are constants when loops are unrolled.
template <bool by_depth, bool whole, class Layout, class E, bool k_is_rows>
MB_FUNC FactorPair<E> read_factor(const LaneOperand<Layout, E, k_is_rows>& from, int outer, int k,
                                  int depth) {
  static_assert(by_depth != k_is_rows);
  const int column = k + int(lane()) % 4 * 2;
  if constexpr (by_depth) {
    const E* const pair = &from.elements[Layout::index(outer / 8, k / 4)];
    // Without this, an element that no product has would be multiplied with zero.
    return FactorPair<E>(whole || column < depth ? pair[0] : E(0),
                         whole || column + 1 < depth ? pair[1] : E(0));
  } else {
    E pair[2];
#pragma clang loop unroll(full)
    for (int i = 0; i < 2; ++i) {
      const E* const near = &from.elements[Layout::index(k / 8, outer / 4)];
      const u32 owner = u32((int(lane()) % 4 * 2 + i) * 4 + int(lane()) / 8);
      const E even = RemovableShuffle()(near[0], owner), odd = RemovableShuffle()(near[1], owner);
      const E found = int(lane()) / 4 % 2 == 0 ? even : odd;
      pair[i] = whole || column + i < depth ? found : E(0);
    }
    return FactorPair<E>(pair[0], pair[1]);
  }
}

// Whether the product has all elements of an operand, in the order that `read_factor` expects.
template <bool by_depth, class E>
MB_FUNC bool is_whole_operand(const MemoryOperand<E>& operand, int size) {
  return operand.outer >= size && (by_depth ? operand.depth_stride : operand.outer_stride) == 1;
}
template <bool by_depth, class Layout, class E, bool k_is_rows>
MB_FUNC bool is_whole_operand(const LaneOperand<Layout, E, k_is_rows>&, int) {
  return true;
}

// Add a lane's elements of the product to `sums`. `static_depth` is 0 for operands in memory, else
// the descriptor's k, a multiple of sixteen.
template <class Layout, class E, bool left_by_depth, bool right_by_depth, int static_depth,
          class Left, class Right>
MB_FUNC void add_product_by_warp(float* sums, const Left& left, const Right& right, int depth) {
  constexpr int step = 16;
  const auto multiply = [&](auto is_whole, float* to, int first) __attribute__((always_inline)) {
    constexpr bool whole = decltype(is_whole)::value;
#pragma clang loop unroll(full)
    for (int k = 0; k < step; k += 8) {
#pragma clang loop unroll(full)
      for (int r = 0; r < Layout::row_slots; r += 2) {
        const auto upper = read_factor<left_by_depth, whole>(left, r * 8, first + k, depth);
        const auto lower = read_factor<left_by_depth, whole>(left, r * 8 + 8, first + k, depth);
#pragma clang loop unroll(full)
        for (int c = 0; c < Layout::column_slots; c += 2) {
          const auto other = read_factor<right_by_depth, whole>(right, c * 4, first + k, depth);
          float* const above = to + Layout::index(r, c);
          float* const below = to + Layout::index(r + 1, c);
          const Sums up = upper.add({above[0], above[1]}, other);
          const Sums down = lower.add({below[0], below[1]}, other);
          above[0] = up.x, above[1] = up.y;
          below[0] = down.x, below[1] = down.y;
        }
      }
    }
  };
  const bool is_whole = is_whole_operand<left_by_depth>(left, Layout::rows) &&
                        is_whole_operand<right_by_depth>(right, Layout::columns);
  if constexpr (static_depth > 0) {
    if (is_whole && depth == static_depth) {
#pragma clang loop unroll(full)
      for (int k = 0; k < static_depth; k += step) multiply(metal::bool_constant<true>(), sums, k);
    } else {
#pragma clang loop unroll(full)
      for (int k = 0; k < static_depth; k += step)
        if (k < depth) multiply(metal::bool_constant<false>(), sums, k);
    }
  } else if (is_whole && depth % step == 0) {
    for (int k = 0; k < depth; k += step) multiply(metal::bool_constant<true>(), sums, k);
  } else {
    for (int k = 0; k < depth; k += step) multiply(metal::bool_constant<false>(), sums, k);
  }
}

}  // namespace mb
