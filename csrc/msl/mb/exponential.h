// exp, log and their kin in float, without branches, so that loops over them become vector code.
// Coefficients: weighted minimax fits (Lawson's iteration) on the reduced ranges.
#pragma once

#include "scalar.h"

// Fast-math flags would reassociate a range reduction away. At the start of a function's body.
#define MB_EXACT _Pragma("clang fp reassociate(off) contract(off) reciprocal(off)")

namespace mb {

#if defined(__FMA__) || defined(__aarch64__)
MB_FUNC constexpr float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
MB_FUNC constexpr double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
#else
MB_FUNC constexpr float fused(float a, float b, float c) { return float(double(a) * b + c); }
MB_FUNC constexpr double fused(double a, double b, double c) { return a * b + c; }
#endif

template <class T>
MB_FUNC constexpr T polynomial(T, T a) {
  return a;
}
// a + b x + c x^2 + ..., by Horner's rule.
template <class T, class... Rest>
MB_FUNC constexpr T polynomial(T x, T a, T b, Rest... rest) {
  return fused(polynomial(x, b, rest...), x, a);
}

MB_FUNC int bits(float x) { return as_type<int>(x); }
MB_FUNC float power_of_two(int n) { return as_type<float>((n + 127) << 23); }

// Adding this rounds to an integer, which then sits in the low bits.
inline constexpr float rounder = 12582912.0f;
inline constexpr double wide_rounder = 6755399441055744.0_d;

// v 2^n, rounded once even when the result is subnormal; |n| < 252.
MB_FUNC float scaled(float v, int n) {
  MB_EXACT
  int half_n = n >> 1;
  return v * power_of_two(half_n) * power_of_two(n - half_n);
}

// NaN passes through both.
MB_FUNC float limited(float x, float low, float high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

// e^x 2^k
MB_FUNC float exp_times(float x, int k) {
  MB_EXACT
  x = limited(x, -105.0f, 90.0f);
  float shifted = fused(x, 1.44269502f, rounder);
  float n = shifted - rounder;
  float r = fused(n, -0.693145752f, x);
  r = fused(n, -1.42860682e-06f, r);
  float q = polynomial(r, 0.5f, 0.166665129f, 0.0416661873f, 0.00836959866f, 0.00139517147f);
  float p = fused(r * r, q, r) + 1.0f;
  return scaled(p, bits(shifted) - bits(rounder) + k);
}

MB_FUNC float exp_of(float x) { return exp_times(x, 0); }

MB_FUNC float exp2_of(float x) {
  MB_EXACT
  x = limited(x, -152.0f, 130.0f);
  float shifted = x + rounder;
  float r = x - (shifted - rounder);
  float q = polynomial(r, 0.693147208f, 0.240226513f, 0.0555032426f, 0.00961800344f, 0.0013401654f,
                       0.000154765607f);
  return scaled(fused(r, q, 1.0f), bits(shifted) - bits(rounder));
}

MB_FUNC float exp10_of(float x) {
  MB_EXACT
  x = limited(x, -46.0f, 39.0f);
  float shifted = fused(x, 3.32192809f, rounder);
  float n = shifted - rounder;
  float r = fused(n, -0.301025391f, x);
  r = fused(n, -4.60503898e-06f, r);
  float high = r * 2.30258512f;
  float low = fused(r, 2.30258512f, -high) + r * -3.19754356e-08f;
  float q = polynomial(high, 0.5f, 0.166665129f, 0.0416661873f, 0.00836959866f, 0.00139517147f);
  float p = (fused(high * high, q, low) + high) + 1.0f;
  return scaled(p, bits(shifted) - bits(rounder));
}

// x = 2^exponent (1 + fraction), fraction in [sqrt(1/2) - 1, sqrt(2) - 1].
struct Split {
  float exponent, fraction;
};
MB_FUNC Split split(float x) {
  MB_EXACT
  bool subnormal = x < 1.17549435e-38f;
  float normal = subnormal ? x * 8388608.0f : x;
  int offset = bits(normal) - bits(0.707106769f);
  int exponent = offset >> 23;
  float mantissa = as_type<float>(bits(normal) - (exponent << 23));
  return Split{float(exponent) - (subnormal ? 23.0f : 0.0f), mantissa - 1.0f};
}

// log(1 + f) - f
MB_FUNC float log_tail(float f) {
  MB_EXACT
  float p = polynomial(f, 0.333333104f, -0.249999866f, 0.200022267f, -0.166692496f, 0.142186557f,
                       -0.123843684f, 0.118730129f, -0.117897052f, 0.0691516591f);
  float square = f * f;
  return fused(square * f, p, -0.5f * square);
}

// The ends of a logarithm's range, whatever its base.
MB_FUNC float log_edges(float x, float value) {
  value = x == __builtin_inff() ? x : value;
  value = x == 0.0f ? -__builtin_inff() : value;
  return x < 0.0f || x != x ? __builtin_nanf("") : value;
}

MB_FUNC float log_of(float x) {
  MB_EXACT
  Split s = split(x);
  float low = fused(s.exponent, 1.42860682e-06f, log_tail(s.fraction));
  return log_edges(x, fused(s.exponent, 0.693145752f, low + s.fraction));
}

// exponent * unit + log(1 + fraction) * (high + low): log(1 + f) as an unevaluated sum keeps the bits.
MB_FUNC float log_in_base(Split s, float unit_high, float unit_low, float high, float low) {
  MB_EXACT
  float tail = log_tail(s.fraction);
  float sum = s.fraction + tail;
  float error = tail - (sum - s.fraction);
  float product = sum * high;
  float rest = fused(sum, high, -product) + fused(error, high, sum * low);
  rest = fused(s.exponent, unit_low, rest);
  float whole = s.exponent * unit_high;
  return whole + (product + rest);
}

MB_FUNC float log2_of(float x) {
  return log_edges(x, log_in_base(split(x), 1.0f, 0.0f, 1.44269502f, 1.92596303e-08f));
}

MB_FUNC float log10_of(float x) {
  float value = log_in_base(split(x), 0.301025391f, 4.60503898e-06f, 0.434294492f, -1.010305e-08f);
  return log_edges(x, value);
}

MB_FUNC float tanh_of(float x) {
  MB_EXACT
  float u = x * x, size = __builtin_fabsf(x);
  float small = fused(x * u,
                      polynomial(u, -0.333333309f, 0.13333208f, -0.0539469661f, 0.0217016021f,
                                 -0.0081791611f, 0.00214420384f),
                      x);
  float large = 1.0f - 2.0f / (exp_of(2.0f * limited(size, 0.0f, 20.0f)) + 1.0f);
  return size < 0.625f ? small : __builtin_copysignf(large, x);
}

}  // namespace mb
