// Geometric functions.
#pragma once

#include "math.h"

namespace mb {

template <class T, int N>
MB_FUNC constexpr T dot_of(vec<T, N> a, vec<T, N> b) {
  if constexpr (N == 2) return a.x * b.x + a.y * b.y;
  else if constexpr (N == 3) return a.x * b.x + a.y * b.y + a.z * b.z;
  else return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// Compute half and bfloat in float: their squares overflow early.
template <class T, int N>
MB_FUNC float square_of(vec<T, N> a) {
  vec<float, N> wide(a);
  return dot_of(wide, wide);
}

}  // namespace mb

namespace metal {

template <class A, class B, class V = mb::join<A, B>, class T = mb::element<V>>
MB_FUNC constexpr T dot(A a, B b) {
  return mb::dot_of(mb::lift<V>(a), mb::lift<V>(b));
}
template <class A, class B, class V = mb::join<A, B>,
          typename mb::enable_if<mb::element_of<V>::count == 3, int>::type = 0>
MB_FUNC constexpr V cross(A left, B right) {
  V a = mb::lift<V>(left), b = mb::lift<V>(right);
  return V(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}
template <class A, class V = mb::arg<A>, class T = mb::element<V>>
MB_FUNC T length_squared(A a) {
  return T(mb::square_of(mb::lift<V>(a)));
}
template <class A, class V = mb::arg<A>, class T = mb::element<V>>
MB_FUNC T length(A a) {
  return T(__builtin_sqrtf(mb::square_of(mb::lift<V>(a))));
}
template <class A, class B, class V = mb::join<A, B>, class T = mb::element<V>>
MB_FUNC T distance_squared(A a, B b) {
  return length_squared(mb::lift<V>(a) - mb::lift<V>(b));
}
template <class A, class B, class V = mb::join<A, B>, class T = mb::element<V>>
MB_FUNC T distance(A a, B b) {
  return length(mb::lift<V>(a) - mb::lift<V>(b));
}
template <class A, class V = mb::arg<A>>
MB_FUNC V normalize(A a) {
  V v = mb::lift<V>(a);
  using Wide = mb::rebind<V, float>;
  return V(Wide(v) * (1.0f / __builtin_sqrtf(mb::square_of(v))));
}
template <class A, class B, class V = mb::join<A, B>>
MB_FUNC V reflect(A incident, B normal) {
  V i = mb::lift<V>(incident), n = mb::lift<V>(normal);
  return i - n * (mb::element<V>(2) * dot(n, i));
}
template <class A, class B, class C, class V = mb::join<A, B>>
MB_FUNC V refract(A incident, B normal, C ratio) {
  using T = mb::element<V>;
  V i = mb::lift<V>(incident), n = mb::lift<V>(normal);
  T eta = mb::lift<T>(ratio), cosine = dot(n, i), k = T(1) - eta * eta * (T(1) - cosine * cosine);
  return k < T(0) ? V(T(0)) : V(i * eta - n * T(eta * cosine + sqrt(k)));
}
template <class A, class B, class C, class V = mb::join3<A, B, C>>
MB_FUNC V faceforward(A normal, B incident, C reference) {
  V n = mb::lift<V>(normal);
  return dot(mb::lift<V>(reference), mb::lift<V>(incident)) < mb::element<V>(0) ? n : -n;
}

}  // namespace metal
