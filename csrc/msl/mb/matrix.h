// matrix<T, C, R>: C columns, each a vec<T, R>, as in memory.
#pragma once

#include "geometric.h"

namespace metal {

template <class T, class Columns, class Rows>
struct mb_matrix;
template <class T, int C, int R>
using matrix = mb_matrix<T, char[C], char[R]>;

template <class T, int C, int R>
struct mb_matrix<T, char[C], char[R]> {
  using Column = vec<T, R>;
  Column columns[C];

  mb_matrix() = default;
  // Make the diagonal matrix with this value.
  MB_FUNC constexpr explicit mb_matrix(T diagonal) : columns{} {
    for (int i = 0; i < C && i < R; ++i) columns[i][i] = diagonal;
  }
  // Plain parameters, so that columns can be braced lists.
#define MB_COLUMNS(n) template <int K = C, class = typename mb::enable_if<K == n>::type>
  MB_COLUMNS(2) MB_FUNC constexpr mb_matrix(Column a, Column b) : columns{a, b} {}
  MB_COLUMNS(3) MB_FUNC constexpr mb_matrix(Column a, Column b, Column c) : columns{a, b, c} {}
  MB_COLUMNS(4)
  MB_FUNC constexpr mb_matrix(Column a, Column b, Column c, Column d) : columns{a, b, c, d} {}
#undef MB_COLUMNS
  // All elements, column by column.
  template <class... E, class = typename mb::enable_if<sizeof...(E) == C * R - 4>::type>
  MB_FUNC constexpr mb_matrix(T a, T b, T c, T d, E... rest) : columns{} {
    T all[] = {a, b, c, d, T(rest)...};
    for (int i = 0; i < C * R; ++i) columns[i / R][i % R] = all[i];
  }
  template <class U>
  MB_FUNC constexpr explicit mb_matrix(const matrix<U, C, R>& m) : columns{} {
    for (int i = 0; i < C; ++i) columns[i] = Column(m.columns[i]);
  }

  MB_ACCESSOR(auto&, operator[], self.columns[MB_SUBSCRIPT(i, C, "a matrix")], unsigned long i)

#define MB_EACH_COLUMN(...)                       \
  mb_matrix r{};                                     \
  for (int i = 0; i < C; ++i) r[i] = __VA_ARGS__; \
  return r
  MB_FUNC friend constexpr mb_matrix operator+(const mb_matrix& a, const mb_matrix& b) {
    MB_EACH_COLUMN(a[i] + b[i]);
  }
  MB_FUNC friend constexpr mb_matrix operator-(const mb_matrix& a, const mb_matrix& b) {
    MB_EACH_COLUMN(a[i] - b[i]);
  }
  MB_FUNC friend constexpr mb_matrix operator-(const mb_matrix& a) { MB_EACH_COLUMN(-a[i]); }
  MB_FUNC friend constexpr mb_matrix operator*(const mb_matrix& a, T b) { MB_EACH_COLUMN(a[i] * b); }
  MB_FUNC friend constexpr mb_matrix operator*(T a, const mb_matrix& b) { MB_EACH_COLUMN(a * b[i]); }
  MB_FUNC friend constexpr mb_matrix operator/(const mb_matrix& a, T b) { MB_EACH_COLUMN(a[i] / b); }
#undef MB_EACH_COLUMN
  MB_FUNC constexpr mb_matrix& operator+=(const mb_matrix& b) { return *this = *this + b; }
  MB_FUNC constexpr mb_matrix& operator-=(const mb_matrix& b) { return *this = *this - b; }
  MB_FUNC constexpr mb_matrix& operator*=(T b) { return *this = *this * b; }
  MB_FUNC constexpr mb_matrix& operator*=(const matrix<T, C, C>& b) { return *this = *this * b; }
  MB_FUNC constexpr mb_matrix& operator/=(T b) { return *this = *this / b; }

  MB_FUNC friend constexpr bool operator==(const mb_matrix& a, const mb_matrix& b) {
    bool same = true;
    for (int i = 0; i < C * R; ++i) same &= a[i / R][i % R] == b[i / R][i % R];
    return same;
  }
  MB_FUNC friend constexpr bool operator!=(const mb_matrix& a, const mb_matrix& b) { return !(a == b); }

  // The vector is a column on the right and a row on the left.
  MB_FUNC friend constexpr Column operator*(const mb_matrix& m, vec<T, C> v) {
    Column sum = m[0] * v[0];
    for (int i = 1; i < C; ++i) sum += m[i] * v[i];
    return sum;
  }
  MB_FUNC friend constexpr vec<T, C> operator*(Column v, const mb_matrix& m) {
    vec<T, C> result = T(0);
    for (int i = 0; i < C; ++i) result[i] = mb::dot_of(v, m[i]);
    return result;
  }
};

template <class T, int K, int R, int C>
MB_FUNC constexpr matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
  matrix<T, C, R> result{};
  for (int i = 0; i < C; ++i) result[i] = a * b[i];
  return result;
}

template <class T, int C, int R>
MB_FUNC constexpr matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
  matrix<T, R, C> result{};
  for (int i = 0; i < C * R; ++i) result[i % R][i / R] = m[i / R][i % R];
  return result;
}
template <class T>
MB_FUNC constexpr T determinant(const matrix<T, 2, 2>& m) {
  return m[0].x * m[1].y - m[1].x * m[0].y;
}
template <class T>
MB_FUNC constexpr T determinant(const matrix<T, 3, 3>& m) {
  return dot(m[0], cross(m[1], m[2]));
}
template <class T>
MB_FUNC constexpr T determinant(const matrix<T, 4, 4>& m) {
  T sum = 0;
  for (int skip = 0; skip < 4; ++skip) {
    vec<T, 3> column[4] = {};
    for (int c = 0; c < 4; ++c) column[c] = vec<T, 3>(m[c].y, m[c].z, m[c].w);
    vec<T, 3> a = column[skip > 0 ? 0 : 1], b = column[skip > 1 ? 1 : 2],
              c = column[skip > 2 ? 2 : 3];
    T minor = dot(a, cross(b, c)) * m[skip].x;
    sum += skip % 2 ? -minor : minor;
  }
  return sum;
}

#define MB_MATRIX_NAMES(T)               \
  using T##2x2 = metal::matrix<T, 2, 2>; \
  using T##2x3 = metal::matrix<T, 2, 3>; \
  using T##2x4 = metal::matrix<T, 2, 4>; \
  using T##3x2 = metal::matrix<T, 3, 2>; \
  using T##3x3 = metal::matrix<T, 3, 3>; \
  using T##3x4 = metal::matrix<T, 3, 4>; \
  using T##4x2 = metal::matrix<T, 4, 2>; \
  using T##4x3 = metal::matrix<T, 4, 3>; \
  using T##4x4 = metal::matrix<T, 4, 4>;
MB_MATRIX_NAMES(float)
MB_MATRIX_NAMES(half)

}  // namespace metal

MB_MATRIX_NAMES(float)
MB_MATRIX_NAMES(half)
#undef MB_MATRIX_NAMES
