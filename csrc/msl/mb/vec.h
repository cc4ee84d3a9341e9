// vec<T, N>: a trivial struct of x, y, z, w. Three components take the room of four.
#pragma once

#include "vec_operators.h"
#include "swizzle.h"

namespace metal {

#define MB_VEC_MEMBERS                                                                    \
  vec() = default;                                                                        \
  MB_FUNC constexpr T& operator[](unsigned long i) {                                      \
    if (__builtin_is_constant_evaluated()) return *mb_element(i);                         \
    return (&x)[i];                                                                       \
  }                                                                                       \
  MB_FUNC constexpr const T& operator[](unsigned long i) const {                          \
    if (__builtin_is_constant_evaluated()) return *const_cast<vec*>(this)->mb_element(i); \
    return (&x)[i];                                                                       \
  }

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> : mb::vec_operators<T, 2> {
  T x, y;

  MB_FUNC constexpr vec(T v) : x(v), y(v) {}
  MB_FUNC constexpr vec(T a, T b) : x(a), y(b) {}
  template <class U>
  MB_FUNC constexpr explicit vec(vec<U, 2> v) : x(mb::convert<T>(v.x)), y(mb::convert<T>(v.y)) {}

  MB_FUNC constexpr T* mb_element(unsigned long i) { return i == 0 ? &x : &y; }
  MB_VEC_MEMBERS
  MB_SWIZZLES_2
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> : mb::vec_operators<T, 3> {
  T x, y, z;

  MB_FUNC constexpr vec(T v) : x(v), y(v), z(v) {}
  MB_FUNC constexpr vec(T a, T b, T c) : x(a), y(b), z(c) {}
  // A short braced list leaves the rest zero: float3 v = {a, b}.
  MB_FUNC constexpr vec(T a, T b) : x(a), y(b), z(0) {}
  MB_FUNC constexpr vec(vec<T, 2> a, T b) : x(a.x), y(a.y), z(b) {}
  MB_FUNC constexpr vec(T a, vec<T, 2> b) : x(a), y(b.x), z(b.y) {}
  template <class U>
  MB_FUNC constexpr explicit vec(vec<U, 3> v)
      : x(mb::convert<T>(v.x)), y(mb::convert<T>(v.y)), z(mb::convert<T>(v.z)) {}

  MB_FUNC constexpr T* mb_element(unsigned long i) { return i == 0 ? &x : i == 1 ? &y : &z; }
  MB_VEC_MEMBERS
  MB_SWIZZLES_3
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> : mb::vec_operators<T, 4> {
  T x, y, z, w;

  MB_FUNC constexpr vec(T v) : x(v), y(v), z(v), w(v) {}
  MB_FUNC constexpr vec(T a, T b, T c, T d) : x(a), y(b), z(c), w(d) {}
  // A short braced list leaves the rest zero: uint4 k = {a, b, c}.
  MB_FUNC constexpr vec(T a, T b, T c) : x(a), y(b), z(c), w(0) {}
  MB_FUNC constexpr vec(vec<T, 2> a, T b, T c) : x(a.x), y(a.y), z(b), w(c) {}
  MB_FUNC constexpr vec(T a, vec<T, 2> b, T c) : x(a), y(b.x), z(b.y), w(c) {}
  MB_FUNC constexpr vec(T a, T b, vec<T, 2> c) : x(a), y(b), z(c.x), w(c.y) {}
  MB_FUNC constexpr vec(vec<T, 2> a, vec<T, 2> b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
  MB_FUNC constexpr vec(vec<T, 3> a, T b) : x(a.x), y(a.y), z(a.z), w(b) {}
  MB_FUNC constexpr vec(T a, vec<T, 3> b) : x(a), y(b.x), z(b.y), w(b.z) {}
  template <class U>
  MB_FUNC constexpr explicit vec(vec<U, 4> v)
      : x(mb::convert<T>(v.x)),
        y(mb::convert<T>(v.y)),
        z(mb::convert<T>(v.z)),
        w(mb::convert<T>(v.w)) {}

  MB_FUNC constexpr T* mb_element(unsigned long i) {
    return i == 0 ? &x : i == 1 ? &y : i == 2 ? &z : &w;
  }
  MB_VEC_MEMBERS
  MB_SWIZZLES_4
};

#undef MB_VEC_MEMBERS

template <class T>
using vec2 = vec<T, 2>;
template <class T>
using vec3 = vec<T, 3>;
template <class T>
using vec4 = vec<T, 4>;

}  // namespace metal
