// Relational functions.
#pragma once

#include "lift.h"

namespace mb {

// A user's overload for vectors is preferred where an argument is a packed vector: packed vectors
// are converted, as they are for the user's.
template <class A>
inline constexpr bool unpacked = true;
template <class T, int N>
inline constexpr bool unpacked<packed_vec<T, N>> = false;

#define MB_CLASSIFY(name, ...)                                                       \
  template <class A, class R = mb::rebind<mb::floating<A>, bool>,                    \
            class = typename mb::enable_if<mb::unpacked<A>>::type>                   \
  MB_FUNC constexpr R name(A a) {                                                    \
    return mb::map(MB_LAMBDA { return __VA_ARGS__; }, mb::lift<mb::floating<A>>(a)); \
  }                                                                                  \
  MB_OF_VECTORS(MB_CLASSIFY_VECTOR, name)
#define MB_CLASSIFY_VECTOR(name, T, N)         \
  template <class = void>                      \
  MB_FUNC constexpr vec<bool, N> name(vec<T, N> a) { \
    return name<vec<T, N>, vec<bool, N>, void>(a);   \
  }
#define MB_COMPARE(name, ...)                                                           \
  template <class A, class B, class V = mb::floating2<A, B>,                            \
            class = typename mb::enable_if<mb::unpacked<A> && mb::unpacked<B>>::type>   \
  MB_FUNC constexpr mb::rebind<V, bool> name(A a, B b) {                                \
    return mb::map(MB_LAMBDA2 { return __VA_ARGS__; }, mb::lift<V>(a), mb::lift<V>(b)); \
  }                                                                                     \
  MB_OF_VECTORS(MB_COMPARE_VECTOR, name)
#define MB_COMPARE_VECTOR(name, T, N)                            \
  template <class = void>                                        \
  MB_FUNC constexpr vec<bool, N> name(vec<T, N> a, vec<T, N> b) { \
    return name<vec<T, N>, vec<T, N>, vec<T, N>, void>(a, b);    \
  }
#define MB_OF_VECTORS(macro, name)                               \
  macro(name, float, 2) macro(name, float, 3) macro(name, float, 4) \
  macro(name, half, 2) macro(name, half, 3) macro(name, half, 4)    \
  macro(name, bfloat, 2) macro(name, bfloat, 3) macro(name, bfloat, 4)

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
#undef MB_CLASSIFY_VECTOR
#undef MB_COMPARE
#undef MB_COMPARE_VECTOR
#undef MB_OF_VECTORS

// c ? b : a, in each component.
template <class A, class B, class C, class R = mb::join<A, B>>
MB_UNAMBIGUOUS(select, mb::mixed<A, B>)
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
