// The rarer functions, evaluated in double and rounded once: at most 0.51 units in the last place.
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
  x = wide_limited(x, -700.0_d, 700.0_d);
  double shifted = fused(x, 1.4426950408889634_d, wide_rounder);
  double n = shifted - wide_rounder;
  double r = fused(n, -0.69314718055994531_d, x);
  double q =
      polynomial(r, 0.50000000000000167_d, 0.16666666666605542_d, 0.04166666666645201_d,
                 0.0083333333738577244_d, 0.0013888888964816663_d, 0.0001984118086636958_d,
                 2.4801471066674422e-05_d, 2.7636947194314531e-06_d, 2.7638146780048935e-07_d);
  double p = fused(r * r, q, r) + 1.0_d;
  return p * wide_power_of_two(wide_bits(shifted) - wide_bits(wide_rounder));
}

// Of a positive, normal double.
MB_FUNC double wide_log(double x) {
  MB_EXACT
  long exponent = (wide_bits(x) - wide_bits(0.70710678118654757_d)) >> 52;
  double m = as_type<double>(wide_bits(x) - (exponent << 52));
  double s = (m - 1.0_d) / (m + 1.0_d), u = s * s;
  double p = polynomial(u, 1.9999999999999996_d, 0.66666666666544883_d, 0.40000000064794611_d,
                        0.28571415569375869_d, 0.22223465657579497_d, 0.18120935649725439_d,
                        0.16849719355542095_d);
  // The shifted mantissa converts without a 64-bit integer conversion.
  double e = as_type<double>(exponent + wide_bits(wide_rounder)) - wide_rounder;
  return fused(e, 0.69314718055994531_d, s * p);
}

// atan(t), |t| <= 1
MB_FUNC double wide_atan(double t) {
  MB_EXACT
  double u = t * t;
  return t * polynomial(u, 0.99999999999866174_d, -0.3333333327794723_d, 0.19999996195844222_d,
                        -0.14285611018987948_d, 0.11109639338845241_d, -0.090782225978937314_d,
                        0.076204217009270769_d, -0.063840271790708114_d, 0.050812430502727012_d,
                        -0.035755271060685448_d, 0.020387207866048255_d, -0.0085095916502284114_d,
                        0.0022555905253416569_d, -0.00028083440292217321_d);
}

// asin(t), |t| <= 1/2
MB_FUNC double wide_asin(double t) {
  MB_EXACT
  double u = t * t;
  return t * polynomial(u, 0.99999999999994194_d, 0.16666666671193342_d, 0.074999994169110989_d,
                        0.044643147863094985_d, 0.030374612226462545_d, 0.022477686370713294_d,
                        0.016438192312134836_d, 0.018775981268865143_d, -0.0031512523104819052_d,
                        0.032207505125485272_d);
}

inline constexpr double half_pi = 1.5707963267948966_d;
inline constexpr double pi = 3.1415926535897931_d;

MB_FUNC float sinh_of(float x) {
  MB_EXACT
  double w = x, u = w * w;
  double e = wide_exp(w);
  double small =
      w * polynomial(u, 1.0000000000000002_d, 0.16666666666665722_d, 0.0083333333334815636_d,
                     0.00019841269752027846_d, 2.7557344816914726e-06_d, 2.5048356558222302e-08_d,
                     1.6330408803585601e-10_d);
  return float(u < 1.0_d ? small : 0.5_d * (e - 1.0_d / e));
}
MB_FUNC float cosh_of(float x) {
  MB_EXACT
  double e = wide_exp(x);
  return float(0.5_d * (e + 1.0_d / e));
}
MB_FUNC float asinh_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double s = __builtin_sqrt(fused(w, w, 1.0_d));
  // log(w + s) loses small w: there, 2 atanh(w / (1 + s)).
  double t = w / (1.0_d + s), u = t * t;
  double small = t * polynomial(u, 1.9999999999999996_d, 0.66666666666544883_d,
                                0.40000000064794611_d, 0.28571415569375869_d, 0.22223465657579497_d,
                                0.18120935649725439_d, 0.16849719355542095_d);
  double large = w < 1e300 ? wide_log(w + s) : w;
  return __builtin_copysignf(float(w < 0.3_d ? small : large), x);
}
MB_FUNC float acosh_of(float x) {
  MB_EXACT
  double w = x, d = w - 1.0_d;
  // sqrt(w^2 - 1) without cancellation; near 1, the logarithm of 1 + small through atanh.
  double s = __builtin_sqrt(d * (w + 1.0_d));
  double y = d + s, t = y / (2.0_d + y), u = t * t;
  double small = t * polynomial(u, 1.9999999999999996_d, 0.66666666666544883_d,
                                0.40000000064794611_d, 0.28571415569375869_d, 0.22223465657579497_d,
                                0.18120935649725439_d, 0.16849719355542095_d);
  double value = y < 0.4_d ? small : w < 1e300 ? wide_log(w + s) : w;
  return x < 1.0f || x != x ? __builtin_nanf("") : float(value);
}
MB_FUNC float atanh_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x)), u = w * w;
  double small = 0.5_d * w *
                 polynomial(u, 1.9999999999999996_d, 0.66666666666544883_d, 0.40000000064794611_d,
                            0.28571415569375869_d, 0.22223465657579497_d, 0.18120935649725439_d,
                            0.16849719355542095_d);
  double large = 0.5_d * wide_log((1.0_d + w) / (1.0_d - w));
  float value = float(w < 0.17_d ? small : large);
  value = w == 1.0_d ? __builtin_inff() : value;
  return w > 1.0_d || x != x ? __builtin_nanf("") : __builtin_copysignf(value, x);
}

MB_FUNC float atan_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double a = wide_atan(w > 1.0_d ? 1.0_d / w : w);
  return __builtin_copysignf(float(w > 1.0_d ? half_pi - a : a), x);
}
MB_FUNC float atan2_of(float y, float x) {
  MB_EXACT
  double p = __builtin_fabs(double(y)), q = __builtin_fabs(double(x));
  bool steep = p > q;
  double low = steep ? q : p, high = steep ? p : q;
  // 0/0 and inf/inf count as 0 and 1.
  double ratio = low == high ? (low == 0.0_d ? 0.0_d : 1.0_d) : low / high;
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
      w > 0.5_d ? half_pi - 2.0_d * wide_asin(__builtin_sqrt(0.5_d * (1.0_d - w))) : wide_asin(w);
  return w > 1.0_d || x != x ? __builtin_nanf("") : __builtin_copysignf(float(a), x);
}
MB_FUNC float acos_of(float x) {
  MB_EXACT
  double w = __builtin_fabs(double(x));
  double a =
      w > 0.5_d ? 2.0_d * wide_asin(__builtin_sqrt(0.5_d * (1.0_d - w))) : half_pi - wide_asin(w);
  a = x < -0.5f ? pi - a : x < 0.0f ? pi - a : a;
  return w > 1.0_d || x != x ? __builtin_nanf("") : float(a);
}

}  // namespace mb
