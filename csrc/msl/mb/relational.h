// Relational functions.
#pragma once

#include "lift.h"

namespace mb {

#define MB_CLASSIFY(name, ...)                                                       \
  template <class A, class R = mb::rebind<mb::floating<A>, bool>>                    \
  MB_FUNC constexpr R name(A a) {                                                    \
    return mb::map(MB_LAMBDA { return __VA_ARGS__; }, mb::lift<mb::floating<A>>(a)); \
  }
#define MB_COMPARE(name, ...)                                                           \
  template <class A, class B, class V = mb::floating2<A, B>>                            \
  MB_FUNC constexpr mb::rebind<V, bool> name(A a, B b) {                                \
    return mb::map(MB_LAMBDA2 { return __VA_ARGS__; }, mb::lift<V>(a), mb::lift<V>(b)); \
  }

MB_FUNC constexpr uint magnitude(float x) { return __builtin_bit_cast(uint, x) & 0x7fffffff; }

template <class T>
MB_FUNC constexpr bool is_negative(T x) {
  if constexpr (sizeof(T) == 2) return __builtin_bit_cast(short, x) < 0;
  else return __builtin_bit_cast(int, x) < 0;
}

template <class T>
MB_FUNC constexpr bool is_normal(T x) {
  constexpr float smallest = __is_same(T, half) ? 6.103515625e-05f : 1.17549435e-38f;
  uint m = magnitude(float(x));
  return m >= magnitude(smallest) && m < 0x7f800000;
}

}  // namespace mb

namespace metal {

MB_CLASSIFY(isnan, mb::magnitude(float(x)) > 0x7f800000)
MB_CLASSIFY(isinf, mb::magnitude(float(x)) == 0x7f800000)
MB_CLASSIFY(isfinite, mb::magnitude(float(x)) < 0x7f800000)
MB_CLASSIFY(isnormal, mb::is_normal(x))
MB_CLASSIFY(signbit, mb::is_negative(x))
MB_COMPARE(isequal, x == y)
MB_COMPARE(isnotequal, x != y)
MB_COMPARE(isgreater, x > y)
MB_COMPARE(isgreaterequal, x >= y)
MB_COMPARE(isless, x < y)
MB_COMPARE(islessequal, x <= y)
MB_COMPARE(islessgreater, x<y || x> y)
MB_COMPARE(isordered, x == x && y == y)
MB_COMPARE(isunordered, x != x || y != y)
#undef MB_CLASSIFY
#undef MB_COMPARE

// c ? b : a, in each component.
template <class A, class B, class C, class R = mb::join<A, B>>
MB_FUNC constexpr R select(A a, B b, C c) {
  return mb::map(
      MB_LAMBDA3 { return z ? y : x; }, mb::lift<R>(a), mb::lift<R>(b),
      mb::lift<mb::rebind<R, bool>>(c));
}

MB_FUNC constexpr bool all(bool x) { return x; }
MB_FUNC constexpr bool any(bool x) { return x; }
template <int N>
MB_FUNC constexpr bool all(vec<bool, N> v) {
  bool result = true;
  for (int i = 0; i < N; ++i) result &= v[i];
  return result;
}
template <int N>
MB_FUNC constexpr bool any(vec<bool, N> v) {
  bool result = false;
  for (int i = 0; i < N; ++i) result |= v[i];
  return result;
}

}  // namespace metal
