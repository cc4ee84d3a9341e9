// Scalar functions that round, split and scale.
#pragma once

#include "exponential.h"

namespace mb {

// Correctly rounded, except for one in a hundred million arguments.
MB_FUNC float rsqrt_rounded(float x) {
  MB_EXACT
  return float(1.0 / __builtin_sqrt(double(x)));
}

// Avoids the processor's estimate: its refinement turns 0 and infinity into NaN.
template <class T>
MB_FUNC float rsqrt_of(T x) {
  MB_EXACT
  if constexpr (__is_same(T, float)) return 1.0f / __builtin_sqrtf(x);
  else return rsqrt_rounded(float(x));
}

MB_FUNC float quotient(float x, float y) {
  MB_EXACT
  return x / y;
}

// Round to odd in float, so that a second rounding to a shorter format is exact: lost bits set the
// last bit.
MB_FUNC float rounded_to_odd(double x) {
  MB_EXACT
  float nearest = float(x);
  bool away = __builtin_fabs(double(nearest)) > __builtin_fabs(x);
  int odd = (bits(nearest) - away) | 1;
  return double(nearest) == x || x != x ? nearest : as_type<float>(odd);
}

// Products of two halves are exact in float; sums with a third half are exact only in double. GPUs
// have instructions that round once.
template <class T>
MB_FUNC T fma_of(T x, T y, T z) {
  if constexpr (__is_same(T, float)) return fused(x, y, z);
#if MB_GPU
  else return __builtin_elementwise_fma(x, y, z);
#else
  else return T(rounded_to_odd(fused(double(x), double(y), double(z))));
#endif
}

MB_FUNC float round_of(float x) {
  return __builtin_truncf(x + __builtin_copysignf(0.49999997f, x));
}

// Below 1, even where x - floor(x) rounds up to 1.
template <class T>
MB_FUNC T fract_of(T x) {
  constexpr float largest = __is_same(T, float)  ? 0x1.fffffep-1f
                            : __is_same(T, half) ? 0x1.ffcp-1f
                                                 : 0x1.fep-1f;
  T part = x - T(__builtin_floorf(x));
  part = part >= T(1) ? T(largest) : part;
  return __builtin_fabsf(x) == __builtin_inff() ? T(0) : part;
}

// Exact while |x / y| < 2^29.
MB_FUNC float fmod_once(float x, float y) {
  MB_EXACT
  double a = __builtin_fabs(double(x)), b = __builtin_fabs(double(y));
  double r = fused(-__builtin_trunc(a / b), b, a);
  r = r < 0.0 ? r + b : r;
  r = b == __builtin_inf() && a != b ? a : r;
  return __builtin_copysignf(float(r), x);
}

MB_FUNC float fmod_exact(float x, float y) {
  MB_EXACT
  double a = __builtin_fabs(double(x)), b = __builtin_fabs(double(y));
  if (!(a < __builtin_inf()) || b != b || b == 0.0) return __builtin_nanf("");
  if (b == __builtin_inf()) return x;
  while (a >= b) {
    // 28 bits of the quotient per step keep the product exact.
    double step = b;
    while (a / step >= 0x1p28) step *= 0x1p28;
    double r = fused(-__builtin_trunc(a / step), step, a);
    a = r < 0.0 ? r + step : r;
  }
  return __builtin_copysignf(float(a), x);
}

template <class T>
MB_FUNC float fmod_of(T x, T y) {
  if constexpr (__is_same(T, float)) return fmod_once(x, y);
  else return fmod_exact(float(x), float(y));
}

MB_FUNC float frexp_of(float x, int& exponent) {
  MB_EXACT
  bool ordinary = x != 0.0f && __builtin_fabsf(x) < __builtin_inff();
  bool subnormal = __builtin_fabsf(x) < 1.17549435e-38f;
  float normal = subnormal ? x * 16777216.0f : x;
  int e = ((bits(normal) >> 23) & 255) - 126;
  exponent = ordinary ? e - (subnormal ? 24 : 0) : 0;
  return ordinary ? as_type<float>((bits(normal) & 0x807fffff) | 0x3f000000) : x;
}

MB_FUNC float ldexp_of(float x, int n) {
  MB_EXACT
  n = n < -300 ? -300 : n > 300 ? 300 : n;
  // In double, all steps except the last are exact.
  return float(double(x) * as_type<double>(long(n + 1023) << 52));
}

MB_FUNC int ilogb_of(float x) {
  if (x == 0.0f || x != x) return -2147483647 - 1;
  if (__builtin_fabsf(x) == __builtin_inff()) return 2147483647;
  int e;
  frexp_of(x, e);
  return e - 1;
}

// Return the neighbour of x towards y, by incrementing its bit pattern.
template <class T, class I>
MB_FUNC T nextafter_of(T x, T y) {
  if (x != x || y != y) return x + y;
  if (x == y) return y;
  I pattern = as_type<I>(x);
  constexpr I sign = I(I(1) << (8 * sizeof(I) - 1));
  if (x == T(0)) return as_type<T>(I((as_type<I>(y) & sign) | 1));
  bool away = (x < y) == (x > T(0));
  return as_type<T>(I(away ? pattern + 1 : pattern - 1));
}

}  // namespace mb
