// Rarer functions, evaluated in double and rounded once: maximum error 0.51 ulp.
#pragma once

#include "exponential.h"

namespace mb {

MB_FUNC long wide_bits(double x) { return as_type<long>(x); }
MB_FUNC double wide_power_of_two(long n) { return as_type<double>((n + 1023) << 52); }
MB_FUNC double wide_limited(double x, double low, double high) {
  x = x < low ? low : x;
  return x > high ? high : x;
}

MB_FUNC double wide_exp(double x) {
  MB_EXACT
  x = wide_limited(x, -700.0, 700.0);
  double shifted = fused(x, 1.4426950408889634, wide_rounder);
  double n = shifted - wide_rounder;
  double r = fused(n, -0.69314718055994531, x);
  double q =
      polynomial(r, 0.50000000000000167, 0.16666666666605542, 0.04166666666645201,
                 0.0083333333738577244, 0.0013888888964816663, 0.0001984118086636958,
                 2.4801471066674422e-05, 2.7636947194314531e-06, 2.7638146780048935e-07);
  double p = fused(r * r, q, r) + 1.0;
  return p * wide_power_of_two(wide_bits(shifted) - wide_bits(wide_rounder));
}

// For a positive, normal double.
MB_FUNC double wide_log(double x) {
  MB_EXACT
  long exponent = (wide_bits(x) - wide_bits(0.70710678118654757)) >> 52;
  double m = as_type<double>(wide_bits(x) - (exponent << 52));
  double s = (m - 1.0) / (m + 1.0), u = s * s;
  double p = polynomial(u, 1.9999999999999996, 0.66666666666544883, 0.40000000064794611,
                        0.28571415569375869, 0.22223465657579497, 0.18120935649725439,
                        0.16849719355542095);
  // The shifted mantissa converts without a 64-bit integer conversion.
  double e = as_type<double>(exponent + wide_bits(wide_rounder)) - wide_rounder;
  return fused(e, 0.69314718055994531, s * p);
}

// atan(t), |t| <= 1
MB_FUNC double wide_atan(double t) {
  MB_EXACT
  double u = t * t;
  return t * polynomial(u, 0.99999999999866174, -0.3333333327794723, 0.19999996195844222,
                        -0.14285611018987948, 0.11109639338845241, -0.090782225978937314,
                        0.076204217009270769, -0.063840271790708114, 0.050812430502727012,
                        -0.035755271060685448, 0.020387207866048255, -0.0085095916502284114,
                        0.0022555905253416569, -0.00028083440292217321);
}

// asin(t), |t| <= 1/2
MB_FUNC double wide_asin(double t) {
  MB_EXACT
  double u = t * t;
  return t * polynomial(u, 0.99999999999994194, 0.16666666671193342, 0.074999994169110989,
                        0.044643147863094985, 0.030374612226462545, 0.022477686370713294,
                        0.016438192312134836, 0.018775981268865143, -0.0031512523104819052,
                        0.032207505125485272);
}

inline constexpr double half_pi = 1.5707963267948966;
inline constexpr double pi = 3.1415926535897931;

MB_FUNC float sinh_of(float x) {
  MB_EXACT
  double w = x, u = w * w;
  double e = wide_exp(w);
  double small =
      w * polynomial(u, 1.0000000000000002, 0.16666666666665722, 0.0083333333334815636,
                     0.00019841269752027846, 2.7557344816914726e-06, 2.5048356558222302e-08,
                     1.6330408803585601e-10);
  return float(u < 1.0 ? small : 0.5 * (e - 1.0 / e));
}
MB_FUNC float cosh_of(float x) {
  MB_EXACT
  double e = wide_exp(x);
  return float(0.5 * (e + 1.0 / e));
}
MB_FUNC float asinh_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double s = __builtin_sqrt(fused(w, w, 1.0));
  // log(w + s) is inexact for small w: use 2 atanh(w / (1 + s)) there.
  double t = w / (1.0 + s), u = t * t;
  double small = t * polynomial(u, 1.9999999999999996, 0.66666666666544883,
                                0.40000000064794611, 0.28571415569375869, 0.22223465657579497,
                                0.18120935649725439, 0.16849719355542095);
  double large = w < 1e300 ? wide_log(w + s) : w;
  return __builtin_copysignf(float(w < 0.3 ? small : large), x);
}
MB_FUNC float acosh_of(float x) {
  MB_EXACT
  double w = x, d = w - 1.0;
  // sqrt(w^2 - 1) without cancellation; near 1, log(1 + small) by atanh.
  double s = __builtin_sqrt(d * (w + 1.0));
  double y = d + s, t = y / (2.0 + y), u = t * t;
  double small = t * polynomial(u, 1.9999999999999996, 0.66666666666544883,
                                0.40000000064794611, 0.28571415569375869, 0.22223465657579497,
                                0.18120935649725439, 0.16849719355542095);
  double value = y < 0.4 ? small : w < 1e300 ? wide_log(w + s) : w;
  return x < 1.0f || x != x ? __builtin_nanf("") : float(value);
}
MB_FUNC float atanh_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x)), u = w * w;
  double small = 0.5 * w *
                 polynomial(u, 1.9999999999999996, 0.66666666666544883, 0.40000000064794611,
                            0.28571415569375869, 0.22223465657579497, 0.18120935649725439,
                            0.16849719355542095);
  double large = 0.5 * wide_log((1.0 + w) / (1.0 - w));
  float value = float(w < 0.17 ? small : large);
  value = w == 1.0 ? __builtin_inff() : value;
  return w > 1.0 || x != x ? __builtin_nanf("") : __builtin_copysignf(value, x);
}

MB_FUNC float atan_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double a = wide_atan(w > 1.0 ? 1.0 / w : w);
  return __builtin_copysignf(float(w > 1.0 ? half_pi - a : a), x);
}
MB_FUNC float atan2_of(float y, float x) {
  MB_EXACT
  double p = __builtin_fabs(double(y)), q = __builtin_fabs(double(x));
  bool steep = p > q;
  double low = steep ? q : p, high = steep ? p : q;
  // 0/0 and inf/inf count as 0 and 1.
  double ratio = low == high ? (low == 0.0 ? 0.0 : 1.0) : low / high;
  double a = wide_atan(ratio);
  a = steep ? half_pi - a : a;
  a = bits(x) < 0 ? pi - a : a;
  float value = x != x || y != y ? __builtin_nanf("") : float(a);
  return __builtin_copysignf(value, y);
}
MB_FUNC float asin_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double a =
      w > 0.5 ? half_pi - 2.0 * wide_asin(__builtin_sqrt(0.5 * (1.0 - w))) : wide_asin(w);
  return w > 1.0 || x != x ? __builtin_nanf("") : __builtin_copysignf(float(a), x);
}
MB_FUNC float acos_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double a =
      w > 0.5 ? 2.0 * wide_asin(__builtin_sqrt(0.5 * (1.0 - w))) : half_pi - wide_asin(w);
  a = x < -0.5f ? pi - a : x < 0.0f ? pi - a : a;
  return w > 1.0 || x != x ? __builtin_nanf("") : float(a);
}

}  // namespace mb
