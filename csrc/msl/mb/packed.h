// packed_vec<T, N>: as vec, but without padding and aligned as T.
#pragma once

#include "vec.h"

namespace metal {

#define MB_PACKED_MEMBERS(N)                                                          \
  packed_vec() = default;                                                             \
  MB_FUNC constexpr packed_vec(T v) : packed_vec(vec<T, N>(v)) {}                     \
  template <class U>                                                                  \
  MB_FUNC constexpr explicit packed_vec(vec<U, N> v) : packed_vec(vec<T, N>(v)) {}    \
  MB_FUNC constexpr T& operator[](unsigned long i) { return (&x)[i]; }                \
  MB_FUNC constexpr const T& operator[](unsigned long i) const { return (&x)[i]; }    \
  MB_FUNC constexpr packed_vec& operator+=(vec<T, N> b) { return *this = *this + b; } \
  MB_FUNC constexpr packed_vec& operator-=(vec<T, N> b) { return *this = *this - b; } \
  MB_FUNC constexpr packed_vec& operator*=(vec<T, N> b) { return *this = *this * b; } \
  MB_FUNC constexpr packed_vec& operator/=(vec<T, N> b) { return *this = *this / b; }

template <class T, int N>
struct packed_vec;

template <class T>
struct packed_vec<T, 2> : mb::vec_operators<T, 2> {
  T x, y;
  MB_FUNC constexpr packed_vec(vec<T, 2> v) : x(v.x), y(v.y) {}
  MB_FUNC constexpr packed_vec(T a, T b) : x(a), y(b) {}
  MB_FUNC constexpr operator vec<T, 2>() const { return vec<T, 2>(x, y); }
  MB_PACKED_MEMBERS(2)
  MB_SWIZZLES_2
};

template <class T>
struct packed_vec<T, 3> : mb::vec_operators<T, 3> {
  T x, y, z;
  MB_FUNC constexpr packed_vec(vec<T, 3> v) : x(v.x), y(v.y), z(v.z) {}
  MB_FUNC constexpr packed_vec(T a, T b, T c) : x(a), y(b), z(c) {}
  MB_FUNC constexpr packed_vec(vec<T, 2> a, T b) : x(a.x), y(a.y), z(b) {}
  MB_FUNC constexpr packed_vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
  MB_FUNC constexpr operator vec<T, 3>() const { return vec<T, 3>(x, y, z); }
  MB_PACKED_MEMBERS(3)
  MB_SWIZZLES_3
};

template <class T>
struct packed_vec<T, 4> : mb::vec_operators<T, 4> {
  T x, y, z, w;
  MB_FUNC constexpr packed_vec(vec<T, 4> v) : x(v.x), y(v.y), z(v.z), w(v.w) {}
  MB_FUNC constexpr packed_vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  MB_FUNC constexpr packed_vec(vec<T, 3> a, T b) : packed_vec(vec<T, 4>(a, b)) {}
  MB_FUNC constexpr packed_vec(vec<T, 2> a, vec<T, 2> b) : packed_vec(vec<T, 4>(a, b)) {}
  MB_FUNC constexpr operator vec<T, 4>() const { return vec<T, 4>(x, y, z, w); }
  MB_PACKED_MEMBERS(4)
  MB_SWIZZLES_4
};

#undef MB_PACKED_MEMBERS

}  // namespace metal
