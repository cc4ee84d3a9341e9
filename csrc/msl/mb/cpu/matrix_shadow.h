// Propagation of uninitialised elements through products of 8x8 matrices, which are not
// instrumented.
#pragma once

#include "given.h"

namespace mb {

#if MB_SHADOW

#define MB_MATRIX_SHADOW [[gnu::noinline]] MB_UNTRACED MB_NOT_SHADOWED static

// Mask with bit 8 row + column of each uninitialised element, and the origin of one of them.
struct MatrixGaps {
  u64 elements = 0;
  u32 origin = 0;
};

// Gaps of elements on a stack; `first` is the index of the first element in its matrix.
template <class T>
MB_MATRIX_SHADOW void add_gaps(MatrixGaps* gaps, const T* elements, u32 count, u32 first,
                               const Fiber* owner) {
  const uptr offset = offset_in_stack(owner, elements);
  if (offset >= stack_bytes) return;
  for (u32 i = 0; i < count * sizeof(T); ++i) {
    if (owner->shadow[offset + i] == 0) continue;
    gaps->elements |= u64(1) << (first + i / sizeof(T));
    if (gaps->origin != 0) continue;
    gaps->origin =
        *reinterpret_cast<const u32*>(owner->shadow + origins_at + (offset + i) / 4 * 4);
    // 0 would mean that it is initialised.
    if (gaps->origin == 0) gaps->origin = unknown_origin;
  }
}

// Other elements count as initialised.
template <class T>
MB_MATRIX_SHADOW void set_gaps(const MatrixGaps* gaps, T* elements, u32 count, u32 first,
                               const Fiber* owner) {
  const uptr offset = offset_in_stack(owner, elements);
  if (offset >= stack_bytes) return;
  for (u32 i = 0; i < count * sizeof(T); ++i) {
    const bool is_gap = (gaps->elements >> (first + i / sizeof(T)) & 1) != 0;
    owner->shadow[offset + i] = is_gap ? 0xff : 0;
    if (is_gap)
      *reinterpret_cast<u32*>(owner->shadow + origins_at + (offset + i) / 4 * 4) = gaps->origin;
  }
}

// Gaps of a b + c: an element depends on a row of a, a column of b, and one element of c.
MB_MATRIX_SHADOW void product_gaps(MatrixGaps* result, const MatrixGaps* a, const MatrixGaps* b,
                                   const MatrixGaps* c) {
  constexpr u64 rows = 0x0101010101010101, row = 0xff;
  u64 left = a->elements, right = b->elements;
  for (u32 by = 4; by > 0; by /= 2) left |= left >> by & (row >> by) * rows;
  for (u32 by = 32; by > 4; by /= 2) right |= right >> by;
  result->elements = (left & rows) * row | (right & row) * rows | c->elements;
  result->origin = c->origin != 0 ? c->origin : a->origin != 0 ? a->origin : b->origin;
}

// For a matrix that one thread owns: read before the product, whose result may alias an operand.
template <class A, class B, class C>
MB_MATRIX_SHADOW void find_product_gaps(MatrixGaps* result, const A* a, const B* b, const C* c) {
  MatrixGaps left, right, sum;
  const Fiber* self = current();
  add_gaps(&left, a, 64, 0, self);
  add_gaps(&right, b, 64, 0, self);
  if (c != nullptr) add_gaps(&sum, c, 64, 0, self);
  product_gaps(result, &left, &right, &sum);
}
template <class D>
MB_MATRIX_SHADOW void set_product_gaps(const MatrixGaps* gaps, D* d) {
  if (gaps->elements != 0) set_gaps(gaps, d, 64, 0, current());
}

#undef MB_MATRIX_SHADOW

#else

struct MatrixGaps {};
template <class A, class B, class C>
MB_FUNC void find_product_gaps(MatrixGaps*, const A*, const B*, const C*) {}
template <class D>
MB_FUNC void set_product_gaps(const MatrixGaps*, D*) {}

#endif

}  // namespace mb
