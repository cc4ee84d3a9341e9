// Products of fragments in registers on the tensor cores of a warp: 16 x 32 x 16, as products of
// 8 x 8 matrices (tensor_cores.h).
//
// A tensor core's lane p has row p / 4 and columns p % 4 * 2 + {0, 1} of each matrix. The order of
// k and of columns is free, so they are taken such that a lane of a fragment has whole pairs:
// position q of piece i of sixteen is number q / 2 * 4 + i * 2 + q % 2.
#pragma once

#include "../tensor_exchange.h"
#include "tensor_cores.h"

namespace mb {

// A shuffle that is removed if nothing uses the result, unlike the compiler's builtin.
struct RemovableShuffle {
  template <class T>
  MB_FUNC T operator()(T x, u32 from) const {
    u32 word = 0;
    static_assert(sizeof(T) <= 4);
    __builtin_memcpy(&word, __builtin_addressof(x), sizeof(T));
#ifdef __NVPTX__
    asm("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(word) : "r"(word), "r"(from));
#else
    word = shuffle_element(word, from);
#endif
    T result;
    __builtin_memcpy(__builtin_addressof(result), &word, sizeof(T));
    return result;
  }
};

// Return the element (row, column) of a matrix of a SIMD-group. The compiler derives most bits of
// the index from those of the lane, and removes the shuffles of elements that it cannot be.
template <class Layout, class E>
MB_FUNC E element_from(const E* elements, int row, int column) {
  return fetch_element<Layout, RemovableShuffle>(elements, row, column);
}

template <class E>
MB_FUNC u32 word_from(E first, E second) {
  const E pair[2] = {first, second};
  u32 word;
  static_assert(sizeof pair == sizeof word);
  __builtin_memcpy(&word, pair, sizeof word);
  return word;
}

// A lane's two elements of an 8 x 8 factor, as the instructions take them.
template <class E>
struct FactorPair {
  u32 word;
  MB_FUNC explicit FactorPair(u32 pair) : word(pair) {}
  MB_FUNC FactorPair(E first, E second) : word(word_from(first, second)) {}
  MB_FUNC Sums add(Sums sums, const FactorPair& right) const {
    if constexpr (__is_same(E, half))
      return mb_add_halves(sums.x, sums.y, word, right.word);
    else
      return mb_add_bfloats(sums.x, sums.y, word, right.word);
  }
};
template <>
struct FactorPair<float> {
  Parts first, second;
  MB_FUNC FactorPair(float a, float b) : first(parts_of(a)), second(parts_of(b)) {}
  MB_FUNC Sums add(Sums sums, const FactorPair& right) const {
    return mb_add_floats(sums.x, sums.y, first.high, second.high, first.low, second.low,
                         right.first.high, right.second.high, right.first.low, right.second.low);
  }
};

template <class L, class R>
inline constexpr bool has_fragment_product =
    __is_same(L, R) && (__is_same(L, half) || __is_same(L, bfloat) || __is_same(L, float));

template <mpp::tensor_ops::matmul2d_descriptor D, class E, class LeftLayout, class RightLayout,
          class Layout, class F>
MB_FUNC void multiply_fragments(const E* left, const E* right, F* destination) {
  const int p = int(lane());
  const int along = p % 4 * 4;  // the first number of this lane's pairs
  const int down = p / 4, turned = down / 2 * 4 + down % 2;
  const auto left_at = [&](int m, int k) __attribute__((always_inline)) {
    return D.transpose_left ? element_from<LeftLayout>(left, k, m)
                            : element_from<LeftLayout>(left, m, k);
  };
  const auto right_at = [&](int k, int n) __attribute__((always_inline)) {
    return D.transpose_right ? element_from<RightLayout>(right, n, k)
                             : element_from<RightLayout>(right, k, n);
  };
  // By eights of rows, by fragments and by pieces of columns.
  Sums sums[2][2][2];
#pragma clang loop unroll(full)
  for (int r = 0; r < 2; ++r) {
#pragma clang loop unroll(full)
    for (int n = 0; n < 4; ++n) {
      Sums& own = sums[r][n / 2][n % 2];
      own = {0, 0};
      if (!D.mb_accumulates()) continue;
      const int row = r * 8 + down, column = n / 2 * 16 + n % 2 * 2 + along;
      own.x = float(element_from<Layout>(destination, row, column));
      own.y = float(element_from<Layout>(destination, row, column + 1));
    }
  }
#pragma clang loop unroll(full)
  for (int k = 0; k < 2; ++k) {
    const int first = k * 2 + along;
    const FactorPair<E> upper(left_at(down, first), left_at(down, first + 1));
    const FactorPair<E> lower(left_at(8 + down, first), left_at(8 + down, first + 1));
#pragma clang loop unroll(full)
    for (int n = 0; n < 4; ++n) {
      const int column = n / 2 * 16 + n % 2 * 2 + turned;
      const FactorPair<E> other(right_at(first, column), right_at(first + 1, column));
      Sums& above = sums[0][n / 2][n % 2];
      Sums& below = sums[1][n / 2][n % 2];
      above = upper.add(above, other);
      below = lower.add(below, other);
    }
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < Layout::capacity; ++i) {
    const int row = Layout::row(p, Layout::row_slot(i));
    const int column = Layout::column(p, Layout::column_slot(i));
    const u32 owner = u32(row % 8 * 4 + column % 16 / 4);
    F found = destination[i];
#pragma clang loop unroll(full)
    for (int j = 0; j < 16; ++j) {
      const Sums& own = sums[j / 8][j / 4 % 2][j / 2 % 2];
      const float value = RemovableShuffle()(j % 2 == 0 ? own.x : own.y, owner);
      const bool is_it = row / 8 == j / 8 && column / 16 == j / 4 % 2 &&
                         column / 2 % 2 == j / 2 % 2 && column % 2 == j % 2;
      found = is_it ? F(value) : found;
    }
    destination[i] = found;
  }
}

}  // namespace mb
