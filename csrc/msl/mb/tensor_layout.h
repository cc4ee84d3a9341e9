// Which thread holds which element of a matrix: the layouts of cooperative tensors, and the only
// place that chooses one (tensor_layout, at the end).
//
// A layout is a product of a distribution of rows and one of columns: a thread holds the elements
// (row(thread, r), column(thread, c)) for row slots r and column slots c. Its constants and
// functions:
//
//   rows, columns              the size of the matrix
//   row_slots, column_slots    how many different rows and columns one thread has
//   capacity, storage          the elements of a thread; those that it has memory for
//   is_exact                   whether all elements of all threads exist
//   row_lanes, column_lanes    in how many lanes of a SIMD-group the rows (columns) differ
//   row_slot(i), column_slot(i), index(r, c)   the slots of element i, and the element of slots
//   row(thread, r), column(thread, c)          may be outside of the matrix: no such element
//   column_mask, row_mask      the bits of a lane that its columns (rows) depend on
//   owner(row, column), owned_index(row, column)   the lane that has an element, and its index
//   there
#pragma once

#include "scalar.h"
#include "tensor_descriptor.h"
#include "tensor_scopes.h"

// Which of the legal layouts matrices have. A number above 0 is for tests and checks: then no
// matrix has the layout that kernels for Apple's GPUs assume.
#ifndef MB_TENSOR_LAYOUT
#define MB_TENSOR_LAYOUT 0
#endif

namespace mb {

constexpr int divide_up(int a, int b) { return (a + b - 1) / b; }

}  // namespace mb

#if MB_HOPPER
#include "gpu/warpgroup_product.h"
#endif

namespace mb {

// SIMD-groups have consecutive blocks of rows. In a SIMD-group `across` lanes share a row, and each
// has `run` consecutive columns of it at a time.
template <int threads, int rows_, int columns_, int across, int run>
struct BlockLayout {
  static constexpr int lanes = threads < int(simd_width) ? threads : int(simd_width);
  static constexpr int groups = threads / lanes;
  static_assert(lanes % across == 0, "lanes form a rectangle");

  static constexpr int rows = rows_, columns = columns_;
  static constexpr int column_lanes = across, row_lanes = lanes / across;
  static constexpr int row_slots = divide_up(rows, groups* row_lanes);
  static constexpr int column_slots = divide_up(columns, across* run) * run;
  static constexpr int capacity = row_slots * column_slots, storage = capacity;
  static constexpr u32 column_mask = u32(across - 1), row_mask = u32(lanes - 1) & ~column_mask;
  static constexpr bool is_exact =
      rows == row_slots * groups * row_lanes && columns == column_slots * across;

  static constexpr int row_slot(int i) { return i / column_slots; }
  static constexpr int column_slot(int i) { return i % column_slots; }
  static constexpr int index(int r, int c) { return r * column_slots + c; }
  MB_FUNC static constexpr int row(int thread, int r) {
    const int lane = thread % lanes, group = thread / lanes;
    return (group * row_slots + r) * row_lanes + lane / across;
  }
  MB_FUNC static constexpr int column(int thread, int c) {
    const int x = thread % lanes % across;
    return c / run * (across * run) + x * run + c % run;
  }
  // The lane and the element of that lane which are a given one of a SIMD-group's matrix.
  MB_FUNC static constexpr u32 owner(int row, int column) {
    return u32(row % row_lanes * across + column / run % across);
  }
  MB_FUNC static constexpr int owned_index(int row, int column) {
    return index(row / row_lanes, column / (across * run) * run + column % run);
  }
};

// The layout of 16 x 16 fragments of Apple's GPUs, `down` of them in a column or `across` in a row.
// Kernels fill and shuffle the elements of these fragments directly. Lane bits 1, 2 and 4 select
// the row, bits 0 and 3 the columns. With `relaxed` precision these are four consecutive ones, and
// the fragments follow each other; otherwise they are two pairs, and the fragments' halves
// alternate.
template <int down, int across, bool relaxed>
struct FragmentLayout {
  static_assert(down == 1 || across == 1, "fragments are in one row or in one column");
  static constexpr int fragments = down * across;
  static constexpr int rows = 16 * down, columns = 16 * across;
  static constexpr int row_lanes = 8, column_lanes = 4;
  static constexpr int row_slots = 2 * down, column_slots = 4 * across;
  static constexpr int capacity = 8 * fragments;
  // Kernels may fill two fragments of either operand of a product.
  static constexpr int storage = 16;
  static constexpr u32 column_mask = 0b01001, row_mask = 0b10110;
  static constexpr bool is_exact = true;

  static constexpr int row_slot(int i) { return fragment(i) / across * 2 + half(i); }
  static constexpr int column_slot(int i) { return fragment(i) % across * 4 + i % 4; }
  static constexpr int index(int r, int c) {
    const int fragment = r / 2 * across + c / 4;
    return relaxed ? fragment * 8 + r % 2 * 4 + c % 4 : (r % 2 * fragments + fragment) * 4 + c % 4;
  }
  MB_FUNC static constexpr int row(int thread, int r) {
    return (thread >> 1 & 3) + (thread >> 4 & 1) * 4 + r % 2 * 8 + r / 2 * 16;
  }
  MB_FUNC static constexpr int column(int thread, int c) {
    const int x = (thread & 1) + (thread >> 3 & 1) * 2, e = c % 4;
    return (relaxed ? x * 4 + e : x * 2 + e % 2 + e / 2 * 8) + c / 4 * 16;
  }
  MB_FUNC static constexpr u32 owner(int row, int column) {
    const int x = relaxed ? column % 16 / 4 : column % 8 / 2;
    return u32((row & 3) << 1 | (row >> 2 & 1) << 4 | (x & 1) | x >> 1 << 3);
  }
  MB_FUNC static constexpr int owned_index(int row, int column) {
    const int e = relaxed ? column % 4 : column % 2 + column % 16 / 8 * 2;
    return index(row / 8, column / 16 * 4 + e);
  }

 private:
  static constexpr int fragment(int i) { return relaxed ? i / 8 : i / 4 % fragments; }
  static constexpr int half(int i) { return relaxed ? i / 4 % 2 : i / 4 / fragments; }
};

constexpr int largest_power_of_two(int most, int limit) {
  int power = 1;
  while (power * 2 <= most && power * 2 <= limit) power *= 2;
  return power;
}

// Layouts for other shapes. By default consecutive lanes have consecutive columns, so that a row of
// memory is read by neighbouring lanes and a row of the left matrix is the same for all of them.
template <int threads, int rows, int columns>
struct PlainLayout {
  static constexpr int lanes = threads < int(simd_width) ? threads : int(simd_width);
#if MB_TENSOR_LAYOUT == 1
  // Four consecutive columns for a lane, as Apple's GPUs have.
  using type = BlockLayout<threads, rows, columns,
                           largest_power_of_two(divide_up(columns, 4), lanes < 4 ? lanes : 4), 4>;
#elif MB_TENSOR_LAYOUT == 2
  // A row for each lane.
  using type = BlockLayout<threads, rows, columns, 1, 1>;
#elif MB_TENSOR_LAYOUT == 3
  // Pairs of columns, as NVIDIA's tensor cores have.
  using type = BlockLayout<threads, rows, columns,
                           largest_power_of_two(divide_up(columns, 2), lanes < 4 ? lanes : 4), 2>;
#else
  using type = BlockLayout<threads, rows, columns, largest_power_of_two(columns, lanes), 1>;
#endif
};

enum class TensorRole { left, right, destination };

// The layout of an operand or of the destination of a product, by device, descriptor and scope.
template <mpp::tensor_ops::matmul2d_descriptor D, class Scope, TensorRole role>
struct tensor_layout {
  static constexpr int threads = scope_traits<Scope>::threads;
  static constexpr int rows = role == TensorRole::left    ? D.mb_left_rows()
                              : role == TensorRole::right ? D.mb_right_rows()
                                                          : D.m;
  static constexpr int columns = role == TensorRole::left    ? D.mb_left_columns()
                                 : role == TensorRole::right ? D.mb_right_columns()
                                                             : D.n;
  static constexpr bool is_fragment = MB_TENSOR_LAYOUT == 0 && scope_traits<Scope>::is_simdgroup &&
                                      D.m == 16 && D.n == 32 && D.k == 16;

  // The layout of a warp's tensor cores.
  static constexpr bool is_warp = MB_GPU && MB_TENSOR_LAYOUT == 0 && !is_fragment &&
                                  scope_traits<Scope>::is_simdgroup && rows % 16 == 0 && rows > 0 &&
                                  columns % 8 == 0 && columns > 0;
  static constexpr bool is_warpgroup =
#if MB_HOPPER
      role == TensorRole::destination && is_warpgroup_shape<Scope>(rows, columns);
#else
      false;
#endif

  template <bool fragment, bool warp, bool warpgroup, class = void>
  struct choose {
    using type = typename PlainLayout<threads, rows, columns>::type;
  };
  template <class None>
  struct choose<false, true, false, None> {
    using type = BlockLayout<threads, rows, columns, 4, 2>;
  };
  template <class None>
  struct choose<true, false, false, None> {
    using type = FragmentLayout<rows / 16, columns / 16, D.relaxed_precision>;
  };
#if MB_HOPPER
  template <class None>
  struct choose<false, false, true, None> {
    using type = WarpgroupLayout<threads, rows, columns>;
  };
#endif
  using type = typename choose<is_fragment, is_warp, is_warpgroup>::type;
};

}  // namespace mb
