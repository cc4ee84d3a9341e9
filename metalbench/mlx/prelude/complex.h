// Complex numbers: complex64_t is a pair of floats, as numpy's and mlx's complex64.
#pragma once

#include "types.h"

template <typename T>
struct complex_t;

template <typename T>
static constexpr constant bool is_complex_v = false;
template <typename T>
static constexpr constant bool is_complex_v<complex_t<T>> = true;

namespace metalbench {

// For a real number that converts to T, be it by way of float (as bfloat does to half).
template <typename U, typename T>
using if_real = metal::enable_if_t<!is_complex_v<U> && (metal::is_convertible_v<U, T> ||
                                                        (metal::is_convertible_v<U, float> &&
                                                         metal::is_convertible_v<float, T>)),
                                   bool>;

// The remainder with the sign of the divisor.
template <typename T>
constexpr T floored_remainder(T a, T b) {
  T rest = a - b * static_cast<int64_t>(a / b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace metalbench

template <typename T>
struct complex_t {
  using value_type = T;
  T real;
  T imag;

  constexpr complex_t() : real(0), imag(0) {}
  constexpr complex_t(T real, T imag) : real(real), imag(imag) {}
  constexpr complex_t(vec<T, 2> v) : real(v.x), imag(v.y) {}
  template <typename U, metalbench::if_real<U, T> = true>
  constexpr complex_t(U x) : real(static_cast<T>(x)), imag(0) {}
  template <typename U, metal::enable_if_t<!is_same_v<U, T>, bool> = true>
  constexpr complex_t(complex_t<U> x)
      : real(static_cast<T>(x.real)), imag(static_cast<T>(x.imag)) {}

  constexpr operator vec<T, 2>() const { return vec<T, 2>(real, imag); }
  template <typename U, metalbench::if_real<T, U> = true>
  constexpr operator U() const {
    return static_cast<U>(real);
  }
};

using complex32_t = complex_t<half>;
using complex64_t = complex_t<float>;

template <typename T>
constexpr complex_t<T> operator-(complex_t<T> a) {
  return complex_t<T>(-a.real, -a.imag);
}
template <typename T>
constexpr complex_t<T> operator+(complex_t<T> a, complex_t<T> b) {
  return complex_t<T>(a.real + b.real, a.imag + b.imag);
}
template <typename T>
constexpr complex_t<T> operator-(complex_t<T> a, complex_t<T> b) {
  return complex_t<T>(a.real - b.real, a.imag - b.imag);
}
template <typename T>
constexpr complex_t<T> operator*(complex_t<T> a, complex_t<T> b) {
  return complex_t<T>(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real);
}
template <typename T>
constexpr complex_t<T> operator/(complex_t<T> a, complex_t<T> b) {
  T norm = b.real * b.real + b.imag * b.imag;
  T real = a.real * b.real + a.imag * b.imag;
  T imag = a.imag * b.real - a.real * b.imag;
  return complex_t<T>(real / norm, imag / norm);
}

template <typename T>
constexpr complex_t<T> operator%(complex_t<T> a, complex_t<T> b) {
  return complex_t<T>(metalbench::floored_remainder(a.real, b.real),
                      metalbench::floored_remainder(a.imag, b.imag));
}

#define MIXED_OPERATOR(op)                                            \
  template <typename T, typename U, metalbench::if_real<U, T> = true> \
  constexpr complex_t<T> operator op(U a, complex_t<T> b) {           \
    return complex_t<T>(a) op b;                                      \
  }                                                                   \
  template <typename T, typename U, metalbench::if_real<U, T> = true> \
  constexpr complex_t<T> operator op(complex_t<T> a, U b) {           \
    return a op complex_t<T>(b);                                      \
  }
MIXED_OPERATOR(+)
MIXED_OPERATOR(-)
MIXED_OPERATOR(*)
MIXED_OPERATOR(/)
#undef MIXED_OPERATOR

#define ASSIGNING_OPERATOR(assign, op)                                          \
  template <typename T, typename U>                                             \
  constexpr thread complex_t<T>& operator assign(thread complex_t<T>& a, U b) { \
    return a = a op b;                                                          \
  }
ASSIGNING_OPERATOR(+=, +)
ASSIGNING_OPERATOR(-=, -)
ASSIGNING_OPERATOR(*=, *)
ASSIGNING_OPERATOR(/=, /)
#undef ASSIGNING_OPERATOR

// Ordered by the real part first, as numpy does.
template <typename T>
constexpr bool operator==(complex_t<T> a, complex_t<T> b) {
  return a.real == b.real && a.imag == b.imag;
}
template <typename T>
constexpr bool operator!=(complex_t<T> a, complex_t<T> b) {
  return !(a == b);
}
template <typename T>
constexpr bool operator>(complex_t<T> a, complex_t<T> b) {
  return a.real > b.real || (a.real == b.real && a.imag > b.imag);
}
template <typename T>
constexpr bool operator>=(complex_t<T> a, complex_t<T> b) {
  return a.real > b.real || (a.real == b.real && a.imag >= b.imag);
}
template <typename T>
constexpr bool operator<(complex_t<T> a, complex_t<T> b) {
  return b > a;
}
template <typename T>
constexpr bool operator<=(complex_t<T> a, complex_t<T> b) {
  return b >= a;
}
