// Rows of a matrix as kernels with one threadgroup a row read them: quads by column, where thread t
// has columns 4 (t + k Threads) and up. The first Keep of them stay in its registers, so that the
// row is read once; what a longer row has beyond is read again, from the cache.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// A row; `beyond` its end it has a value that changes nothing. Where `Whole` it is one of a matrix
// whose rows are whole quads.
template <typename T, bool Whole = false>
struct Row {
  device const T* at;
  uint cols;
  float beyond;
  float4 operator()(uint column) const { return load_quad<Whole>(at, column, cols, beyond); }
};

// The sum of two rows, which is never stored.
template <typename T, bool Whole = false>
struct RowSum {
  device const T* at;
  device const T* added;
  uint cols;
  float beyond;
  float4 operator()(uint column) const {
    return load_quad<Whole>(at, column, cols, beyond) + load_quad<Whole>(added, column, cols);
  }
};

// Of what rows of whole quads are made of: such a row can be stored to as well.
template <typename Source>
constant constexpr bool kWhole = false;
template <typename T>
constant constexpr bool kWhole<Row<T, true>> = true;
template <typename T>
constant constexpr bool kWhole<RowSum<T, true>> = true;

template <bool Whole = false, typename T>
inline Row<T, Whole> row_of(device const T* matrix, uint row, uint cols, float beyond = 0.0f) {
  return {matrix + ulong(row) * cols, cols, beyond};
}

template <bool Whole = false, typename T>
inline RowSum<T, Whole> row_of_sum(device const T* matrix, device const T* added, uint row,
                                   uint cols, float beyond = 0.0f) {
  return {matrix + ulong(row) * cols, added + ulong(row) * cols, cols, beyond};
}

}  // namespace metalbench
