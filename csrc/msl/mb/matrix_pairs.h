// A simdgroup_matrix with two elements per lane, in the distribution of Apple GPUs.
#pragma once

#include "names.h"
#include "sync.h"

namespace mb {

// Return the index of a lane's first element on Apple GPUs; its second is the next in the row.
MB_FUNC constexpr u32 matrix_first_element(u32 lane) {
  u32 q = lane / 4;
  u32 row = (q & 4) + (lane / 2) % 4;
  u32 col = (q & 2) * 2 + (lane % 2) * 2;
  return row * 8 + col;
}

}  // namespace mb

namespace metal {

template <class T, int Cols, int Rows = Cols>
struct simdgroup_matrix {
  static_assert(Cols == 8 && Rows == 8, "Metal has simdgroup_matrix<T, 8, 8> only");
  using storage_type = vec<T, 2>;
  storage_type mb_pair;

  simdgroup_matrix() = default;
  MB_FUNC explicit simdgroup_matrix(T diagonal) {
    mb::u32 at = mb::matrix_first_element(mb::lane());
    mb::u32 row = at / 8, col = at % 8;
    mb_pair = vec<T, 2>(row == col ? diagonal : T(0), row == col + 1 ? diagonal : T(0));
  }
  MB_FUNC storage_type& thread_elements() { return mb_pair; }
  MB_FUNC const storage_type& thread_elements() const { return mb_pair; }
};

}  // namespace metal

namespace mb {

using metal::simdgroup_matrix;

template <class T>
MB_FUNC void matrix_set(simdgroup_matrix<T, 8, 8>& m, T value, bool diagonal) {
  m = diagonal ? simdgroup_matrix<T, 8, 8>(value) : m;
  if (!diagonal) m.mb_pair = vec<T, 2>(value);
}

template <class T, class U>
MB_FUNC void matrix_read(simdgroup_matrix<T, 8, 8>& m, const U* source, long stride,
                         bool transpose) {
  u32 at = matrix_first_element(lane());
  long row = at / 8, col = at % 8;
  const U* p = transpose ? source + col * stride + row : source + row * stride + col;
#if MB_COUNTED
  // Neighbours are loaded together.
  if (!transpose) {
    U pair[2];
    __builtin_memcpy(pair, p, sizeof pair);
    m.mb_pair = vec<T, 2>(convert<T>(pair[0]), convert<T>(pair[1]));
    return;
  }
#endif
  m.mb_pair = vec<T, 2>(convert<T>(p[0]), convert<T>(p[transpose ? stride : 1]));
}

template <class T, class U>
MB_FUNC void matrix_write(simdgroup_matrix<T, 8, 8>& m, U* target, long stride, bool transpose) {
  u32 at = matrix_first_element(lane());
  long row = at / 8, col = at % 8;
  U* p = transpose ? target + col * stride + row : target + row * stride + col;
#if MB_COUNTED
  if (!transpose) {
    const U pair[2] = {convert<U>(m.mb_pair.x), convert<U>(m.mb_pair.y)};
    __builtin_memcpy(p, pair, sizeof pair);
    return;
  }
#endif
  p[0] = convert<U>(m.mb_pair.x);
  p[transpose ? stride : 1] = convert<U>(m.mb_pair.y);
}

}  // namespace mb
