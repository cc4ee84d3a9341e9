// Arithmetic on the 64 elements, row by row, of 8x8 matrices. Never inlined: kernels unroll dozens
// of these calls, and clang would take a minute to inline all.
#pragma once

#include "../access.h"

// Not convergent, with any compiler flags: no other lane is involved.
#define MB_MATRIX_KERNEL [[gnu::noinline, clang::noconvergent]] MB_UNTRACED static

namespace mb {

using Row = float __attribute__((ext_vector_type(8)));

template <class T>
MB_FUNC Row load_row(const T* p) {
  typedef T Elements __attribute__((ext_vector_type(8)));
  Elements row;
  __builtin_memcpy(&row, p, sizeof row);
  return __builtin_convertvector(row, Row);
}

template <class T>
MB_FUNC void store_row(T* p, Row row) {
  typedef T Elements __attribute__((ext_vector_type(8)));
  Elements result = __builtin_convertvector(row, Elements);
  __builtin_memcpy(p, &result, sizeof result);
}

template <class A, class B>
MB_FUNC void add_product(Row (&rows)[8], const A* a, const B* b) {
  // Load single elements from memory: a broadcasting load is free, a shuffle is not.
  alignas(32) float converted[__is_same(A, float) ? 1 : 64];
  const float* left = converted;
  if constexpr (__is_same(A, float)) {
    left = a;
  } else {
    for (int i = 0; i < 8; ++i) store_row(converted + 8 * i, load_row(a + 8 * i));
  }
#pragma clang loop unroll(full)
  for (int k = 0; k < 8; ++k) {
    Row right = load_row(b + 8 * k);
#pragma clang loop unroll(full)
    for (int i = 0; i < 8; ++i) rows[i] += left[8 * i + k] * right;
  }
}

// d = a b + c in float, rounded once to D. The matrices may alias.
template <class D, class A, class B, class C>
MB_MATRIX_KERNEL void matrix_multiply_accumulate(D* d, const A* a, const B* b, const C* c) {
  Row rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = load_row(c + 8 * i);
  add_product(rows, a, b);
  for (int i = 0; i < 8; ++i) store_row(d + 8 * i, rows[i]);
}

template <class D, class A, class B>
MB_MATRIX_KERNEL void matrix_multiply(D* d, const A* a, const B* b) {
  Row rows[8];
  for (int i = 0; i < 8; ++i) rows[i] = Row(0);
  add_product(rows, a, b);
  for (int i = 0; i < 8; ++i) store_row(d + 8 * i, rows[i]);
}

// All rows are read before the first is written.
template <class T, class U>
MB_FUNC void copy_rows(T* to, long to_stride, const U* from, long from_stride) {
  Row rows[8];
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) rows[i] = load_row(from + i * from_stride);
#pragma clang loop unroll(full)
  for (int i = 0; i < 8; ++i) store_row(to + i * to_stride, rows[i]);
}

template <class T, class U>
MB_FUNC void copy_columns(T* to, long to_stride, const U* from, long from_stride) {
  alignas(32) float all[64], turned[64];
  for (int i = 0; i < 8; ++i) store_row(all + 8 * i, load_row(from + i * from_stride));
  for (int i = 0; i < 64; ++i) turned[i] = all[i % 8 * 8 + i / 8];
  for (int i = 0; i < 8; ++i) store_row(to + i * to_stride, load_row(turned + 8 * i));
}

template <class T, class U>
MB_MATRIX_KERNEL void matrix_load(T* m, const U* source, long stride) {
  copy_rows(m, 8, source, stride);
}
template <class T, class U>
MB_MATRIX_KERNEL void matrix_load_transposed(T* m, const U* source, long stride) {
  copy_columns(m, 8, source, stride);
}
template <class T, class U>
MB_MATRIX_KERNEL void matrix_store(const T* m, U* target, long stride) {
  copy_rows(target, stride, m, 8);
}
template <class T, class U>
MB_MATRIX_KERNEL void matrix_store_transposed(const T* m, U* target, long stride) {
  copy_columns(target, stride, m, 8);
}

template <class U>
MB_MATRIX_KERNEL void matrix_store_row(const U* row, U* target) {
  // Copy as one vector: the sanitizer's pass would replace a memory copy by a checked call.
  using Bytes = u8 __attribute__((ext_vector_type(8 * sizeof(U))));
  Bytes bytes;
  __builtin_memcpy(&bytes, row, sizeof bytes);
  __builtin_memcpy(target, &bytes, sizeof bytes);
}

template <class T>
MB_MATRIX_KERNEL void matrix_fill(T* m, T value) {
  for (int i = 0; i < 64; ++i) m[i] = value;
}

template <class T>
MB_MATRIX_KERNEL void matrix_diagonal(T* m, T value) {
  for (int i = 0; i < 64; ++i) m[i] = i % 9 ? T(0) : value;
}

}  // namespace mb
