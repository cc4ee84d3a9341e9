// Products of fragments that a SIMD-group holds, without a copy of the operands to another layout:
// rows of eight lanes are multiplied by permuted rows of the operands.
#pragma once

#include "tensor_lanes.h"

namespace mb {

using Floats8 = Sums8<float>;

// Which elements eight lanes take: element i of the result is that of lane `lane[i]` with the index
// `index[i]`.
struct EightSources {
  int index[8], lane[8];
  constexpr bool is_one_row() const {
    for (int i = 1; i < 8; ++i) {
      if (index[i] != index[0] || lane[i] / 8 != lane[0] / 8) return false;
    }
    return true;
  }
};

// The elements of the left operand (row of the lane, k), or of the right one (k, column of the
// lane), for the lanes from 8 * block on.
template <class Layout, class Operand, bool is_left>
constexpr EightSources find_sources(int block, int slot, int k) {
  EightSources found{};
  for (int i = 0; i < 8; ++i) {
    const int lane = block * 8 + i;
    const int outer = is_left ? Layout::row(lane, slot) : Layout::column(lane, slot);
    const int row = Operand::transposed ? k : outer, column = Operand::transposed ? outer : k;
    found.index[i] = Operand::Layout::owned_index(row, column);
    found.lane[i] = int(Operand::Layout::owner(row, column));
  }
  return found;
}

template <class Layout, class Operand, bool is_left, int block, int slot, int k, unsigned long... i>
MB_FUNC Floats8 take_eight(const float* rows, metal::index_sequence<i...>) {
  constexpr EightSources from = find_sources<Layout, Operand, is_left>(block, slot, k);
  if constexpr (from.is_one_row()) {
    const Floats8 row =
        load_sums<float>(rows + from.index[0] * int(simd_width) + from.lane[0] / 8 * 8);
    return __builtin_shufflevector(row, row, (from.lane[i] % 8)...);
  } else {
    return Floats8{rows[from.index[i] * int(simd_width) + from.lane[i]]...};
  }
}

// Two columns of the lanes of two blocks, which have the same columns: eight rows of sums.
template <class Product, int block, int slot, class E, unsigned long... k>
MB_FUNC void add_two_columns(E* destination, const float* left, const float* right,
                             metal::index_sequence<k...>) {
  using Layout = typename Product::Layout;
  using Left = typename Product::Left;
  using Right = typename Product::Right;
  constexpr metal::make_index_sequence<8> eight;
  const auto at = [&](int r, int c, int which) __attribute__((always_inline)) {
    return destination + Layout::index(r, slot + c) * int(simd_width) + (block + which * 2) * 8;
  };
  Floats8 sums[2][2][2];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) {
    Floats8& own = sums[i / 4][i / 2 % 2][i % 2];
    own = Product::accumulates ? load_sums<float>(at(i / 4, i / 2 % 2, i % 2)) : Floats8(0.0f);
  }
  const auto step = [&]<int now>() __attribute__((always_inline)) {
    const Floats8 a[2][2] = {{take_eight<Layout, Left, true, block, 0, now>(left, eight),
                              take_eight<Layout, Left, true, block + 2, 0, now>(left, eight)},
                             {take_eight<Layout, Left, true, block, 1, now>(left, eight),
                              take_eight<Layout, Left, true, block + 2, 1, now>(left, eight)}};
    const Floats8 b[2] = {take_eight<Layout, Right, false, block, slot, now>(right, eight),
                          take_eight<Layout, Right, false, block, slot + 1, now>(right, eight)};
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i) {
      Floats8& own = sums[i / 4][i / 2 % 2][i % 2];
      own = own + a[i / 4][i % 2] * b[i / 2 % 2];
    }
  };
  (step.template operator()<int(k)>(), ...);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) {
    const Floats8 own = sums[i / 4][i / 2 % 2][i % 2];
    E* const target = at(i / 4, i / 2 % 2, i % 2);
    if constexpr (__is_same(E, float))
      store_sums(target, own);
    else
      store_row(target, own);
  }
}

template <class Product, class E, class L, class R>
MB_MATRIX_KERNEL void matrix_lanes_fragments(E* destination, const L* left_rows,
                                             const R* right_rows) {
  using Left = typename Product::Left;
  using Right = typename Product::Right;
  constexpr int lanes = int(simd_width);
  alignas(32) float left[Left::Layout::capacity * lanes], right[Right::Layout::capacity * lanes];
  for (int i = 0; i < Left::Layout::capacity * lanes; i += 8)
    store_sums(left + i, load_sums<float>(left_rows + i));
  for (int i = 0; i < Right::Layout::capacity * lanes; i += 8)
    store_sums(right + i, load_sums<float>(right_rows + i));
  const auto columns = [&]<int block>() __attribute__((always_inline)) {
    constexpr metal::make_index_sequence<16> sixteen;
    add_two_columns<Product, block, 0>(destination, left, right, sixteen);
    add_two_columns<Product, block, 2>(destination, left, right, sixteen);
    add_two_columns<Product, block, 4>(destination, left, right, sixteen);
    add_two_columns<Product, block, 6>(destination, left, right, sixteen);
  };
  // Blocks 0 and 2 have the same columns, and so have 1 and 3.
  columns.template operator()<0>();
  columns.template operator()<1>();
}

template <mpp::tensor_ops::matmul2d_descriptor D, class Scope, class Sum, class L, class R, class E,
          class X, class Elements>
MB_FUNC void multiply_by_lanes(const L& left, const R& right,
                               metal::cooperative_tensor<E, X, Elements>& destination) {
  const auto a = lanes_operand<D.transpose_left>(left, D.m);
  const auto b = lanes_operand<!D.transpose_right>(right, D.n);
  using Product = LanesProduct<D, Scope, typename Elements::Layout, Sum, E,
                               typename decltype(a)::Type, typename decltype(b)::Type>;
  if constexpr (tensor_layout<D, Scope, TensorRole::destination>::is_fragment &&
                __is_same(Sum, float) && !Product::Left::is_memory && !Product::Right::is_memory) {
    matrix_lanes_fragments<Product>(destination.mb_element, a.data, b.data);
    return;
  }
  int depth = smaller_of(a.depth, b.depth);
  if constexpr (D.mb_has_static_k()) depth = smaller_of(depth, D.k);
  u32 group = 0;
  if constexpr (!scope_traits<Scope>::is_simdgroup) group = own_simdgroup();
  matrix_lanes_product<Product>(destination.mb_element, group, a.data, a.origin, a.outer_stride,
                                a.depth_stride, a.outer, a.depth, b.data, b.origin, b.outer_stride,
                                b.depth_stride, b.outer, b.depth, depth);
}

}  // namespace mb
