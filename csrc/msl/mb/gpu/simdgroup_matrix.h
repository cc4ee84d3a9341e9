// simdgroup_matrix on a warp, for sources without thread_elements(): each lane holds two elements.
// For a matrix loaded from memory it also holds two of the transposed matrix, the form of a right
// factor. So products need no shuffles, and unused loads are removed.
#pragma once

#include "../names.h"
#include "simdgroup.h"
#include "tensor_cores.h"

namespace mb {

// Row of the first of a lane's two elements; the other is the next in the row.
MB_FUNC u32 matrix_row() { return lane() / 4; }
MB_FUNC u32 matrix_column() { return lane() % 4 * 2; }

}  // namespace mb

namespace metal {

template <class T, int Cols, int Rows = Cols>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "Metal has simdgroup_matrix<T, 8, 8> only");
  using storage_type = vec<T, 2>;
  storage_type mb_pair;
  storage_type mb_turned;  // this lane's two elements of the transposed matrix
  bool mb_is_whole;        // whether mb_turned is valid: mostly a compile-time constant

  simdgroup_matrix() = default;
  MB_FUNC explicit simdgroup_matrix(T diagonal) {
    mb_fill([=](mb::u32 row, mb::u32 column) { return row == column ? diagonal : T(0); });
  }
  template <class Value>
  MB_FUNC void mb_fill(Value value) {
    const mb::u32 row = mb::matrix_row(), column = mb::matrix_column();
    mb_pair = storage_type(value(row, column), value(row, column + 1));
    mb_turned = storage_type(value(column, row), value(column + 1, row));
    mb_is_whole = true;
  }
};

}  // namespace metal

namespace mb {

using metal::simdgroup_matrix;

template <class T>
constexpr bool is_for_tensor_cores = __is_same(T, half) || __is_same(T, bfloat);

template <class T>
MB_FUNC u32 word_of(metal::vec<T, 2> pair) {
  u32 word;
  static_assert(sizeof pair == sizeof word);
  __builtin_memcpy(&word, __builtin_addressof(pair), sizeof word);
  return word;
}

template <class T>
MB_FUNC metal::vec<T, 2> pair_of(u32 word) {
  metal::vec<T, 2> pair;
  __builtin_memcpy(__builtin_addressof(pair), &word, sizeof pair);
  return pair;
}

template <class T>
MB_FUNC void matrix_set(simdgroup_matrix<T, 8, 8>& m, T value, bool diagonal) {
  m.mb_fill([=](u32 row, u32 column) { return !diagonal || row == column ? value : T(0); });
}

template <class T, class U>
MB_FUNC void matrix_read(simdgroup_matrix<T, 8, 8>& m, const U* source, long stride,
                         bool transpose) {
  const long down = transpose ? 1 : stride, along = transpose ? stride : 1;
  m.mb_fill([=](u32 row, u32 column) __attribute__((always_inline)) {
    return convert<T>(source[row * down + column * along]);
  });
  if constexpr (__is_same(T, U) && is_for_tensor_cores<T>) {
    m.mb_pair = pair_of<T>(mb_matrix_word(source, stride, transpose));
    m.mb_turned = pair_of<T>(mb_matrix_word(source, stride, !transpose));
  }
}

template <class T, class U>
MB_FUNC void matrix_write(simdgroup_matrix<T, 8, 8>& m, U* target, long stride, bool transpose) {
  const long down = transpose ? 1 : stride, along = transpose ? stride : 1;
  U* p = target + matrix_row() * down + matrix_column() * along;
  p[0] = convert<U>(m.mb_pair.x);
  p[along] = convert<U>(m.mb_pair.y);
}

// Load by all lanes. Removed if the result is unused, unlike the compiler's builtin.
template <class T>
MB_FUNC T exchanged(T x, u32 from) {
  u32 word[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(word, __builtin_addressof(x), sizeof(T));
#pragma clang loop unroll(full)
  for (u32& each : word) {
    asm("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(each) : "r"(each), "r"(from));
  }
  T result;
  __builtin_memcpy(__builtin_addressof(result), word, sizeof(T));
  return result;
}

// Load of the transposed matrix.
template <class T>
MB_FUNC metal::vec<T, 2> turned_pair(const simdgroup_matrix<T, 8, 8>& m) {
  if (m.mb_is_whole) {
    return m.mb_turned;
  }
  const u32 row = matrix_column(), column = matrix_row();
  const metal::vec<T, 2> first = exchanged(m.mb_pair, 4 * row + column / 2);
  const metal::vec<T, 2> second = exchanged(m.mb_pair, 4 * (row + 1) + column / 2);
  return column % 2 == 0 ? metal::vec<T, 2>(first.x, second.x)
                         : metal::vec<T, 2>(first.y, second.y);
}

// Types without direct tensor core support, which are split into sums of parts.
template <class A, class B>
MB_FUNC void add_by_parts(const simdgroup_matrix<A, 8, 8>& a, const simdgroup_matrix<B, 8, 8>& b,
                          float& x, float& y) {
  const metal::vec<B, 2> turned = turned_pair(b);
  const Parts left[2] = {parts_of(convert<float>(a.mb_pair.x)),
                         parts_of(convert<float>(a.mb_pair.y))};
  const Parts right[2] = {parts_of(convert<float>(turned.x)), parts_of(convert<float>(turned.y))};
  const Sums sums = mb_add_floats(x, y, left[0].high, left[1].high, left[0].low, left[1].low,
                                  right[0].high, right[1].high, right[0].low, right[1].low);
  x = sums.x;
  y = sums.y;
}

// Whether both matrices have elements of this type.
template <class T>
MB_FUNC void add_by_tensor_cores(const simdgroup_matrix<T, 8, 8>& a,
                                 const simdgroup_matrix<T, 8, 8>& b, float& x, float& y) {
  const u32 left = word_of(a.mb_pair);
  const u32 right = b.mb_is_whole ? word_of(b.mb_turned) : transposed(word_of(b.mb_pair));
  Sums sums;
  if constexpr (__is_same(T, half)) {
    sums = mb_add_halves(x, y, left, right);
  } else {
    sums = mb_add_bfloats(x, y, left, right);
  }
  x = sums.x;
  y = sums.y;
}

template <class A, class B>
constexpr bool has_tensor_cores = __is_same(A, B) && is_for_tensor_cores<A>;

// d = a b + c in float, rounded once to D.
template <class D, class A, class B>
MB_FUNC void multiply_add(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                          const simdgroup_matrix<B, 8, 8>& b, float x, float y) {
  if constexpr (has_tensor_cores<A, B>) {
    add_by_tensor_cores(a, b, x, y);
  } else {
    add_by_parts(a, b, x, y);
  }
  d.mb_pair = metal::vec<D, 2>(convert<D>(x), convert<D>(y));
  d.mb_is_whole = false;
}

template <class D, class A, class B, class C>
MB_FUNC void matrix_product_sum(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                const simdgroup_matrix<B, 8, 8>& b,
                                const simdgroup_matrix<C, 8, 8>& c) {
  multiply_add(d, a, b, convert<float>(c.mb_pair.x), convert<float>(c.mb_pair.y));
}
template <class D, class A, class B>
MB_FUNC void matrix_product(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                            const simdgroup_matrix<B, 8, 8>& b) {
  multiply_add(d, a, b, 0.0f, 0.0f);
}

}  // namespace mb

#include "../matrix_functions.h"
