// vec<T, N>: a trivial struct of x, y, z, w. Three components occupy the space of four.
#pragma once

#include "vec_operators.h"
#include "swizzle.h"

namespace metal {

// `read` and `write` name the components of v. Volatile vectors are read and assigned as a whole,
// through templates, because a volatile copy constructor would make the struct non-trivial.
#define MB_VEC_MEMBERS(N, read, write)                                                         \
  mb_vec() = default;                                                                          \
  template <class Same, typename mb::enable_if<__is_same(Same, T), int>::type = 0>               \
  MB_FUNC mb_vec(const volatile vec<Same, N>& v) : mb_vec read {}                              \
  template <class = void>                                                                      \
  MB_FUNC volatile mb_vec& operator=(mb_vec v) volatile {                                      \
    write;                                                                                     \
    return *this;                                                                              \
  }                                                                                            \
  MB_FUNC constexpr T& operator[](unsigned long i) {                                           \
    if (__builtin_is_constant_evaluated()) return *mb_element(i);                              \
    return (&x)[MB_SUBSCRIPT(i, N, "a vector")];                                               \
  }                                                                                            \
  MB_FUNC constexpr const T& operator[](unsigned long i) const {                               \
    if (__builtin_is_constant_evaluated()) return *const_cast<mb_vec*>(this)->mb_element(i);   \
    return (&x)[MB_SUBSCRIPT(i, N, "a vector")];                                               \
  }                                                                                            \
  MB_FUNC volatile T& operator[](unsigned long i) volatile {                                   \
    return (&x)[MB_SUBSCRIPT(i, N, "a vector")];                                               \
  }                                                                                            \
  MB_FUNC const volatile T& operator[](unsigned long i) const volatile {                       \
    return (&x)[MB_SUBSCRIPT(i, N, "a vector")];                                               \
  }

// Conversions from vectors of another element type.
#define MB_VEC_CONVERSIONS(N, ...)                                                             \
  template <class U>                                                                           \
  MB_FUNC constexpr explicit mb_vec(const vec<U, N>& v) : __VA_ARGS__ {}                       \
  template <class U, typename mb::enable_if<!__is_same(U, T), int>::type = 0>                    \
  MB_FUNC constexpr explicit mb_vec(const packed_vec<U, N>& v) : __VA_ARGS__ {}                \
  template <class U, typename mb::enable_if<!__is_same(U, T), int>::type = 0>                    \
  MB_FUNC explicit mb_vec(const volatile vec<U, N>& v) : __VA_ARGS__ {}                        \
  template <class U, typename mb::enable_if<!__is_same(U, T), int>::type = 0>                    \
  MB_FUNC explicit mb_vec(const volatile packed_vec<U, N>& v) : __VA_ARGS__ {}
#define MB_CONVERTED(member) member(mb::convert<T>(v.member))

template <class T>
struct alignas(2 * sizeof(T)) mb_vec<T, char[2]> : mb::vec_operators<T, 2> {
  T x, y;

  MB_FUNC constexpr mb_vec(T v) : x(v), y(v) {}
  MB_FUNC constexpr mb_vec(T a, T b) : x(a), y(b) {}
  MB_VEC_CONVERSIONS(2, MB_CONVERTED(x), MB_CONVERTED(y))

  MB_FUNC constexpr T* mb_element(unsigned long i) { return i == 0 ? &x : &y; }
  MB_VEC_MEMBERS(2, (v.x, v.y), (x = v.x, y = v.y))
  MB_SWIZZLES_2
};

template <class T>
struct alignas(4 * sizeof(T)) mb_vec<T, char[3]> : mb::vec_operators<T, 3> {
  T x, y, z;

  MB_FUNC constexpr mb_vec(T v) : x(v), y(v), z(v) {}
  MB_FUNC constexpr mb_vec(T a, T b, T c) : x(a), y(b), z(c) {}
  // Missing elements of a braced list are zero: float3 v = {a, b}.
  MB_FUNC constexpr mb_vec(T a, T b) : x(a), y(b), z(0) {}
  MB_FUNC constexpr mb_vec(vec<T, 2> a, T b) : x(a.x), y(a.y), z(b) {}
  MB_FUNC constexpr mb_vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
  MB_VEC_CONVERSIONS(3, MB_CONVERTED(x), MB_CONVERTED(y), MB_CONVERTED(z))

  MB_FUNC constexpr T* mb_element(unsigned long i) { return i == 0 ? &x : i == 1 ? &y : &z; }
  MB_VEC_MEMBERS(3, (v.x, v.y, v.z), (x = v.x, y = v.y, z = v.z))
  MB_SWIZZLES_3
};

template <class T>
struct alignas(4 * sizeof(T)) mb_vec<T, char[4]> : mb::vec_operators<T, 4> {
  T x, y, z, w;

  MB_FUNC constexpr mb_vec(T v) : x(v), y(v), z(v), w(v) {}
  MB_FUNC constexpr mb_vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  // Missing elements of a braced list are zero: uint4 k = {a, b, c}.
  MB_FUNC constexpr mb_vec(T a, T b, T c) : x(a), y(b), z(c), w(0) {}
  MB_FUNC constexpr mb_vec(vec<T, 2> a, T b, T c) : x(a.x), y(a.y), z(b), w(c) {}
  MB_FUNC constexpr mb_vec(T a, vec<T, 2> b, T c) : x(a), y(b.x), z(b.y), w(c) {}
  MB_FUNC constexpr mb_vec(T a, T b, vec<T, 2> c) : x(a), y(b), z(c.x), w(c.y) {}
  MB_FUNC constexpr mb_vec(vec<T, 2> a, vec<T, 2> b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
  MB_FUNC constexpr mb_vec(vec<T, 3> a, T b) : x(a.x), y(a.y), z(a.z), w(b) {}
  MB_FUNC constexpr mb_vec(T a, vec<T, 3> b) : x(a), y(b.x), z(b.y), w(b.z) {}
  MB_VEC_CONVERSIONS(4, MB_CONVERTED(x), MB_CONVERTED(y), MB_CONVERTED(z), MB_CONVERTED(w))

  MB_FUNC constexpr T* mb_element(unsigned long i) {
    return i == 0 ? &x : i == 1 ? &y : i == 2 ? &z : &w;
  }
  MB_VEC_MEMBERS(4, (v.x, v.y, v.z, v.w), (x = v.x, y = v.y, z = v.z, w = v.w))
  MB_SWIZZLES_4
};

#undef MB_CONVERTED
#undef MB_VEC_CONVERSIONS
#undef MB_VEC_MEMBERS

}  // namespace metal
