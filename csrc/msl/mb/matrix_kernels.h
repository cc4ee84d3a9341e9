// Arithmetic on the 64 elements, row by row, of 8x8 matrices. Never inlined: kernels unroll dozens of
// these calls, and inlining all takes clang a minute.
#pragma once

#include "scalar.h"
#include "sync.h"

#define MB_MATRIX_KERNEL [[gnu::noinline]] MB_UNTRACED static

namespace mb {

using Row = float __attribute__((ext_vector_type(8)));

// The element a lane's first one is on Apple GPUs; its second is the next in the row.
MB_FUNC constexpr u32 matrix_first_element(u32 lane) {
  u32 q = lane / 4;
  u32 row = (q & 4) + (lane / 2) % 4;
  u32 col = (q & 2) * 2 + (lane % 2) * 2;
  return row * 8 + col;
}

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
  Row left[8];
  for (int i = 0; i < 8; ++i) left[i] = load_row(a + 8 * i);
  for (int k = 0; k < 8; ++k) {
    Row right = load_row(b + 8 * k);
    for (int i = 0; i < 8; ++i) rows[i] += left[i][k] * right;
  }
}

// d = a b + c in float, rounded once to D. Any of them may be the same matrix.
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

template <class T, class U>
MB_MATRIX_KERNEL void matrix_load(T* m, const U* source, long stride, bool transpose) {
  if (transpose) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) m[8 * j + i] = convert<T>(source[i * stride + j]);
    }
  } else {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) m[8 * i + j] = convert<T>(source[i * stride + j]);
    }
  }
}

template <class T, class U>
MB_MATRIX_KERNEL void matrix_store(const T* m, U* target, long stride, bool transpose) {
  if (transpose) {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) target[i * stride + j] = convert<U>(m[8 * j + i]);
    }
  } else {
    for (int i = 0; i < 8; ++i) {
      for (int j = 0; j < 8; ++j) target[i * stride + j] = convert<U>(m[8 * i + j]);
    }
  }
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
