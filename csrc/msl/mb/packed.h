// packed_vec<T, N>: as vec, but without padding and aligned as T.
#pragma once

#include "vec.h"

namespace metal {

// `own` are the components; `read` and `write` those of v.
#define MB_PACKED_MEMBERS(N, own, read, write)                                                  \
  mb_packed_vec() = default;                                                                    \
  MB_FUNC constexpr mb_packed_vec(T v) : mb_packed_vec(vec<T, N>(v)) {}                         \
  MB_FUNC constexpr mb_packed_vec(vec<T, N> v) : mb_packed_vec read {}                          \
  template <class U>                                                                            \
  MB_FUNC constexpr explicit mb_packed_vec(const vec<U, N>& v) : mb_packed_vec(vec<T, N>(v)) {} \
  template <class U>                                                                            \
  MB_FUNC constexpr explicit mb_packed_vec(const packed_vec<U, N>& v)                           \
      : mb_packed_vec(vec<T, N>(v)) {}                                                          \
  MB_FUNC constexpr operator vec<T, N>() const { return vec<T, N> own; }                        \
  MB_FUNC operator vec<T, N>() const volatile { return vec<T, N> own; }                         \
  template <class Same, class = typename mb::enable_if<__is_same(Same, T)>::type>               \
  MB_FUNC mb_packed_vec(const volatile packed_vec<Same, N>& v) : mb_packed_vec read {}          \
  template <class = void>                                                                       \
  MB_FUNC volatile mb_packed_vec& operator=(mb_packed_vec v) volatile {                         \
    write;                                                                                      \
    return *this;                                                                               \
  }                                                                                             \
  MB_FUNC constexpr T& operator[](unsigned long i) {                                           \
    return (&x)[MB_SUBSCRIPT(i, N, "a packed vector")];                                        \
  }                                                                                            \
  MB_FUNC constexpr const T& operator[](unsigned long i) const {                               \
    return (&x)[MB_SUBSCRIPT(i, N, "a packed vector")];                                        \
  }                                                                                            \
  MB_FUNC volatile T& operator[](unsigned long i) volatile {                                   \
    return (&x)[MB_SUBSCRIPT(i, N, "a packed vector")];                                        \
  }                                                                                            \
  MB_FUNC const volatile T& operator[](unsigned long i) const volatile {                       \
    return (&x)[MB_SUBSCRIPT(i, N, "a packed vector")];                                        \
  }                                                                                            \
  MB_FUNC constexpr mb_packed_vec& operator+=(vec<T, N> b) { return *this = *this + b; }        \
  MB_FUNC constexpr mb_packed_vec& operator-=(vec<T, N> b) { return *this = *this - b; }        \
  MB_FUNC constexpr mb_packed_vec& operator*=(vec<T, N> b) { return *this = *this * b; }        \
  MB_FUNC constexpr mb_packed_vec& operator/=(vec<T, N> b) { return *this = *this / b; }

template <class T>
struct mb_packed_vec<T, char[2]> : mb::vec_operators<T, 2> {
  T x, y;
  MB_FUNC constexpr mb_packed_vec(T a, T b) : x(a), y(b) {}
  MB_PACKED_MEMBERS(2, (x, y), (v.x, v.y), (x = v.x, y = v.y))
  MB_SWIZZLES_2
};

template <class T>
struct mb_packed_vec<T, char[3]> : mb::vec_operators<T, 3> {
  T x, y, z;
  MB_FUNC constexpr mb_packed_vec(T a, T b, T c) : x(a), y(b), z(c) {}
  MB_FUNC constexpr mb_packed_vec(vec<T, 2> a, T b) : x(a.x), y(a.y), z(b) {}
  MB_FUNC constexpr mb_packed_vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
  MB_PACKED_MEMBERS(3, (x, y, z), (v.x, v.y, v.z), (x = v.x, y = v.y, z = v.z))
  MB_SWIZZLES_3
};

template <class T>
struct mb_packed_vec<T, char[4]> : mb::vec_operators<T, 4> {
  T x, y, z, w;
  MB_FUNC constexpr mb_packed_vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  MB_FUNC constexpr mb_packed_vec(vec<T, 3> a, T b) : mb_packed_vec(vec<T, 4>(a, b)) {}
  MB_FUNC constexpr mb_packed_vec(vec<T, 2> a, vec<T, 2> b) : mb_packed_vec(vec<T, 4>(a, b)) {}
  MB_PACKED_MEMBERS(4, (x, y, z, w), (v.x, v.y, v.z, v.w), (x = v.x, y = v.y, z = v.z, w = v.w))
  MB_SWIZZLES_4
};

#undef MB_PACKED_MEMBERS

}  // namespace metal
