// Products of matrices for a whole SIMD-group that runs as vectors. A function whose name begins
// with matrix_lanes_ is called once for all lanes. A pointer to an array of the thread is there the
// address of rows: element i of lane l is at i * 32 + l (vectorize/intrinsics.py). All other
// arguments are the same in all lanes.
#pragma once

#include "../tensor_operands.h"
#include "matrix_kernels.h"

namespace mb {

// Eight sums.
template <class Sum>
using Sums8 = Sum __attribute__((ext_vector_type(8)));

template <class Sum, class T>
MB_FUNC Sums8<Sum> load_sums(const T* p) {
  typedef T Elements __attribute__((ext_vector_type(8)));
  Elements row;
  __builtin_memcpy(&row, p, sizeof row);
  return __builtin_convertvector(row, Sums8<Sum>);
}
template <class Sum>
MB_FUNC void store_sums(Sum* p, Sums8<Sum> row) {
  __builtin_memcpy(p, &row, sizeof row);
}

// Convert `count` adjacent elements.
template <class Sum, class T>
MB_FUNC void convert_elements(Sum* to, const T* from, int count) {
  int i = 0;
  for (; i + 8 <= count; i += 8) store_sums(to + i, load_sums<Sum>(from + i));
  for (; i < count; ++i) to[i] = static_cast<Sum>(from[i]);
}

// Transpose an 8 x 8 block: element (i, j) is at from[i * stride + j] and comes to to[j * pitch +
// i].
template <class Sum, class T>
MB_FUNC void transpose_block(Sum* to, int pitch, const T* from, long stride) {
  Sums8<Sum> row[8], half[8];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) row[i] = load_sums<Sum>(from + i * stride);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i += 2) {
    half[i] = __builtin_shufflevector(row[i], row[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    half[i + 1] = __builtin_shufflevector(row[i], row[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; i += 4) {
#pragma clang loop unroll(full)
    for (int j = 0; j < 2; ++j) {
      const Sums8<Sum> a = half[i + j], b = half[i + 2 + j];
      row[i + j] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
      row[i + 2 + j] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
#pragma clang loop unroll(full)
  for (int j = 0; j < 4; ++j) {
    const Sums8<Sum> a = row[j], b = row[4 + j];
    store_sums(to + j * pitch, __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11));
    store_sums(to + (j + 4) * pitch, __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15));
  }
}

// The place among the rows of a SIMD-group's matrix of each element, row by row.
template <class Layout>
struct RowPlaces {
  static_assert(Layout::capacity * int(simd_width) <= 65536, "places have 16 bits");
  unsigned short at[Layout::rows][Layout::columns];
  constexpr RowPlaces() : at{} {
    for (int row = 0; row < Layout::rows; ++row) {
      for (int column = 0; column < Layout::columns; ++column)
        at[row][column] = (unsigned short)(Layout::owned_index(row, column) * int(simd_width) +
                                           int(Layout::owner(row, column)));
    }
  }
};
template <class Layout>
inline constexpr RowPlaces<Layout> row_places{};

// An operand that the SIMD-group holds. `transposed`: it is stored with k as its rows.
template <class Layout_, class E, bool transposed_>
struct RowsOperand {
  static constexpr bool is_memory = false, transposed = transposed_;
  using Layout = Layout_;
  using Element = E;
  using Memory = E;
  static constexpr int outer = transposed ? Layout::columns : Layout::rows;
  static constexpr int depth = transposed ? Layout::rows : Layout::columns;
  const E* data;

  template <class Sum>
  MB_FUNC Sum read(long at, long k) const {
    return static_cast<Sum>(
        data[transposed ? row_places<Layout>.at[k][at] : row_places<Layout>.at[at][k]]);
  }
};

// Copy rows [first, first + count) and k from k0 on to `to`, zero where the operand has no element.
// `pitch` is the distance of rows.
template <class Sum, class Operand>
MB_FUNC void pack_rows(Sum* to, int pitch, const Operand& operand, int first, int count, int k0,
                       int depth) {
  for (int r = 0; r < count; ++r, to += pitch) {
    const int row = first + r;
    const bool exists = row < operand.outer;
    int k = 0;
    const int present = exists ? smaller_of(depth, operand.depth - k0) : 0;
    if constexpr (Operand::is_memory && !is_four_bits<typename Operand::Element>) {
      if (operand.depth_stride == 1 && present > 0) {
        convert_elements(to, operand.data + operand.origin + row * operand.outer_stride + k0,
                         present);
        k = present;
      }
    }
    for (; k < present; ++k) to[k] = operand.template read<Sum>(row, k0 + k);
    for (; k < depth; ++k) to[k] = Sum(0);
  }
}

// The same with k as the rows of the copy, for the columns [0, count).
template <class Sum, class Operand>
MB_FUNC void pack_columns(Sum* to, int pitch, const Operand& operand, int count, int k0,
                          int depth) {
  const int present = smaller_of(count, operand.outer);
  const int deep = smaller_of(depth, operand.depth - k0);
  for (int k = 0; k < depth; ++k) {
    for (int n = k < deep ? present : 0; n < count; ++n) to[k * pitch + n] = Sum(0);
  }
  if constexpr (Operand::is_memory && !is_four_bits<typename Operand::Element>) {
    const auto* from = operand.data + operand.origin + k0 * operand.depth_stride;
    if (operand.outer_stride == 1) {
      for (int k = 0; k < deep; ++k)
        convert_elements(to + k * pitch, from + k * operand.depth_stride, present);
      return;
    }
    if (operand.depth_stride == 1) {
      int n = 0;
      for (; n + 8 <= present; n += 8) {
        int k = 0;
        for (; k + 8 <= deep; k += 8)
          transpose_block(to + k * pitch + n, pitch, from + n * operand.outer_stride + k,
                          operand.outer_stride);
        for (; k < deep; ++k) {
          for (int i = n; i < n + 8; ++i) to[k * pitch + i] = operand.template read<Sum>(i, k0 + k);
        }
      }
      for (; n < present; ++n) {
        for (int k = 0; k < deep; ++k) to[k * pitch + n] = operand.template read<Sum>(n, k0 + k);
      }
      return;
    }
  }
  for (int k = 0; k < deep; ++k) {
    for (int n = 0; n < present; ++n) to[k * pitch + n] = operand.template read<Sum>(n, k0 + k);
  }
}

// What a call of matrix_lanes_product computes.
template <mpp::tensor_ops::matmul2d_descriptor D, class Scope, class Layout_, class Sum_, class E,
          class Left_, class Right_>
struct LanesProduct {
  using Layout = Layout_;
  using Sum = Sum_;
  using Element = E;
  using Left = Left_;
  using Right = Right_;
  static constexpr bool accumulates = D.mb_accumulates();
  // The rows of one SIMD-group, rounded up to those of a block of the inner loop; columns likewise.
  static constexpr int rows = Layout::row_slots * Layout::row_lanes;
  static constexpr int padded_rows = divide_up(rows, 4) * 4;
  static constexpr int columns = Layout::columns;
  static constexpr int padded_columns = divide_up(columns, 16) * 16;
  // How many k are copied at a time.
  static constexpr int depth = 32;
};

// sums += a b: four rows and sixteen columns at a time, in registers.
template <class Product, class Sum = typename Product::Sum>
MB_FUNC void add_packed_product(Sum* sums, const Sum* a, const Sum* b, long pitch, int depth) {
  constexpr int columns = Product::padded_columns, most = Product::depth;
  for (int row = 0; row < Product::padded_rows; row += 4) {
    for (int column = 0; column < columns; column += 16) {
      Sum* const target = sums + row * columns + column;
      Sums8<Sum> low[4], high[4];
#pragma clang loop unroll(full)
      for (int r = 0; r < 4; ++r) {
        low[r] = load_sums<Sum>(target + r * columns);
        high[r] = load_sums<Sum>(target + r * columns + 8);
      }
      for (int k = 0; k < depth; ++k) {
        const Sums8<Sum> first = load_sums<Sum>(b + k * pitch + column);
        const Sums8<Sum> second = load_sums<Sum>(b + k * pitch + column + 8);
#pragma clang loop unroll(full)
        for (int r = 0; r < 4; ++r) {
          const Sum factor = a[(row + r) * most + k];
          low[r] = low[r] + factor * first;
          high[r] = high[r] + factor * second;
        }
      }
#pragma clang loop unroll(full)
      for (int r = 0; r < 4; ++r) {
        store_sums(target + r * columns, low[r]);
        store_sums(target + r * columns + 8, high[r]);
      }
    }
  }
}

// Copy between the rows of a SIMD-group's destination and a matrix with padded rows.
template <class Product, class Copy>
MB_FUNC void for_each_place(Copy copy) {
  using Layout = typename Product::Layout;
  for (int row = 0; row < Product::rows; ++row) {
    for (int column = 0; column < Product::columns; ++column)
      copy(Layout::owned_index(row, column) * int(simd_width) + int(Layout::owner(row, column)),
           row * Product::padded_columns + column);
  }
}

template <class Product, class E, class LeftMemory, class RightMemory>
MB_MATRIX_KERNEL void matrix_lanes_product(E* destination, u32 group, const LeftMemory* left_data,
                                           long left_origin, long left_outer_stride,
                                           long left_depth_stride, int left_outer, int left_depth,
                                           const RightMemory* right_data, long right_origin,
                                           long right_outer_stride, long right_depth_stride,
                                           int right_outer, int right_depth, int depth) {
  using Sum = typename Product::Sum;
  using Left = typename Product::Left;
  using Right = typename Product::Right;
  constexpr int columns = Product::padded_columns, most = Product::depth;
  alignas(64) Sum sums[Product::padded_rows * columns];
  alignas(64) Sum a[Product::padded_rows * most];
  alignas(64) Sum b[most * columns];
  Left left;
  Right right;
  if constexpr (Left::is_memory)
    left = {left_data, left_origin, left_outer_stride, left_depth_stride, left_outer, left_depth};
  else
    left = {left_data};
  if constexpr (Right::is_memory)
    right = {right_data,         right_origin, right_outer_stride,
             right_depth_stride, right_outer,  right_depth};
  else
    right = {right_data};

  __builtin_memset(sums, 0, sizeof sums);
  if (Product::accumulates)
    for_each_place<Product>([&](int from, int to) __attribute__((always_inline)) {
      sums[to] = static_cast<Sum>(destination[from]);
    });
  const int first = int(group) * Product::rows;
  __builtin_memset(a, 0, sizeof a);
  for (int k = 0; k < depth; k += most) {
    const int now = smaller_of(most, depth - k);
    pack_rows(a, most, left, first, Product::rows, k, now);
    pack_columns(b, columns, right, columns, k, now);
    add_packed_product<Product>(sums, a, b, columns, now);
  }
  for_each_place<Product>([&](int to, int from) __attribute__((always_inline)) {
    destination[to] = static_cast<E>(sums[from]);
  });
}

// The first lane's value, which all lanes have.
template <class T>
MB_FUNC T same_in_all_lanes(T x) {
  if constexpr (__is_pointer(T))
    return (T)marker::first(u64(x));
  else
    return T(marker::first(passed<T>(x)));
}

// The arguments of matrix_lanes_product for one operand.
template <class Type_>
struct LanesOperand {
  using Type = Type_;
  const typename Type::Memory* data;
  long origin, outer_stride, depth_stride;
  int outer, depth;
};

// `transposed`: k is the dimension of the rows that are stored.
template <bool transposed, class E, class X, class L>
MB_FUNC auto lanes_operand(const metal::cooperative_tensor<E, X, L>& tensor, int) {
  using Type = RowsOperand<typename L::Layout, E, transposed>;
  return LanesOperand<Type>{tensor.mb_element, 0, 0, 0, Type::outer, Type::depth};
}
template <bool transposed, class E, class X, class D, class... T>
MB_FUNC auto lanes_operand(const metal::tensor<E, X, D, T...>& tensor, int size) {
  const auto operand = memory_operand(tensor, transposed ? 0 : 1, transposed ? 1 : 0, size);
  return LanesOperand<__remove_cv(decltype(operand))>{
      same_in_all_lanes(operand.data),         same_in_all_lanes(operand.origin),
      same_in_all_lanes(operand.outer_stride), same_in_all_lanes(operand.depth_stride),
      same_in_all_lanes(operand.outer),        same_in_all_lanes(operand.depth)};
}

}  // namespace mb
