// exp, log and related functions in float, without branches, so that loops over them vectorise.
// Coefficients: weighted minimax fits (Lawson's iteration) on the reduced ranges.
#pragma once

#include "lanes.h"

// Fast-math flags would reassociate a range reduction. Use at the start of a function's body.
#define MB_EXACT _Pragma("clang fp reassociate(off) contract(off) reciprocal(off)")

namespace mb {

template <class F>
MB_FUNC F polynomial(F, scalar_of<F> a) {
  return F(a);
}
// a + b x + c x^2 + ..., by Horner's rule.
template <class F, class... Rest>
MB_FUNC F polynomial(F x, scalar_of<F> a, scalar_of<F> b, Rest... rest) {
  return fused(polynomial(x, b, rest...), x, F(a));
}

template <class F>
MB_FUNC F power_of_two(ints_of<F> n) {
  return as_type<F>((n + 127) << 23);
}

// Adding this number rounds to an integer, which is then in the low bits.
inline constexpr float rounder = 12582912.0f;
inline constexpr double wide_rounder = 6755399441055744.0;

// v 2^n, rounded once even when the result is subnormal; |n| < 252.
template <class F>
MB_FUNC F scaled(F v, ints_of<F> n) {
  MB_EXACT
  ints_of<F> half_n = n >> 1;
  return v * power_of_two<F>(half_n) * power_of_two<F>(n - half_n);
}

// NaN is unchanged, because both comparisons are false.
template <class F>
MB_FUNC F limited(F x, scalar_of<F> low, scalar_of<F> high) {
  x = x < F(low) ? F(low) : x;
  return x > F(high) ? F(high) : x;
}

// Return f(x) of an odd f whose polynomial loses the sign of zero.
template <class F>
MB_FUNC F with_zero(F x, F value) {
  if constexpr (MB_FAST_MATH) return value;
  else return x == F(0.0f) ? x : value;
}

template <class F>
MB_FUNC F exp_of(F x) {
  MB_EXACT
  x = limited(x, -105.0f, 90.0f);
  F shifted = fused(x, F(1.44269502f), F(rounder));
  F n = shifted - rounder;
  F r = fused(n, F(-0.693145752f), x);
  r = fused(n, F(-1.42860682e-06f), r);
  F q = polynomial(r, 0.5f, 0.166665129f, 0.0416661873f, 0.00836959866f, 0.00139517147f);
  F p = fused(r * r, q, r) + 1.0f;
  return scaled(p, bits(shifted) - bits(rounder));
}

template <class F>
MB_FUNC F exp2_of(F x) {
  MB_EXACT
  x = limited(x, -152.0f, 130.0f);
  F shifted = x + rounder;
  F r = x - (shifted - rounder);
  F q = polynomial(r, 0.693147208f, 0.240226513f, 0.0555032426f, 0.00961800344f, 0.0013401654f,
                   0.000154765607f);
  return scaled(fused(r, q, 1.0f), bits(shifted) - bits(rounder));
}

template <class F>
MB_FUNC F exp10_of(F x) {
  MB_EXACT
  x = limited(x, -46.0f, 39.0f);
  F shifted = fused(x, F(3.32192809f), F(rounder));
  F n = shifted - rounder;
  F r = fused(n, F(-0.301025391f), x);
  r = fused(n, F(-4.60503898e-06f), r);
  F high = r * 2.30258512f;
  F low = fused(r, F(2.30258512f), -high) + r * -3.19754356e-08f;
  F q = polynomial(high, 0.5f, 0.166665129f, 0.0416661873f, 0.00836959866f, 0.00139517147f);
  F p = (fused(high * high, q, low) + high) + 1.0f;
  return scaled(p, bits(shifted) - bits(rounder));
}

// x = 2^exponent (1 + fraction), fraction in [sqrt(1/2) - 1, sqrt(2) - 1].
template <class F>
struct Split {
  F exponent, fraction;
};
template <class F>
MB_FUNC Split<F> split(F x) {
  MB_EXACT
  using I = ints_of<F>;
  F normal = x < F(1.17549435e-38f) ? x * 8388608.0f : x;
  F shift = x < F(1.17549435e-38f) ? F(23.0f) : F(0.0f);
  I offset = bits(normal) - bits(0.707106769f);
  I exponent = offset >> 23;
  F mantissa = as_type<F>(bits(normal) - (exponent << 23));
  return Split<F>{floats_from(exponent) - shift, mantissa - 1.0f};
}

// log(1 + f) - f
template <class F>
MB_FUNC F log_tail(F f) {
  MB_EXACT
  F p = polynomial(f, 0.333333104f, -0.249999866f, 0.200022267f, -0.166692496f, 0.142186557f,
                   -0.123843684f, 0.118730129f, -0.117897052f, 0.0691516591f);
  F square = f * f;
  return fused(square * f, p, -0.5f * square);
}

// Special cases at the ends of a logarithm's range, for any base.
template <class F>
MB_FUNC F log_edges(F x, F value) {
  value = x == F(__builtin_inff()) ? x : value;
  value = x == F(0.0f) ? F(-__builtin_inff()) : value;
  return (x < F(0.0f)) | (x != x) ? F(__builtin_nanf("")) : value;
}

template <class F>
MB_FUNC F log_of(F x) {
  MB_EXACT
  Split<F> s = split(x);
  F low = fused(s.exponent, F(1.42860682e-06f), log_tail(s.fraction));
  return log_edges(x, fused(s.exponent, F(0.693145752f), low + s.fraction));
}

// exponent * unit + log(1 + fraction) * (high + low): log(1 + f) as an unevaluated sum keeps the
// bits.
template <class F>
MB_FUNC F log_in_base(Split<F> s, scalar_of<F> unit_high, scalar_of<F> unit_low, scalar_of<F> high,
                      scalar_of<F> low) {
  MB_EXACT
  F tail = log_tail(s.fraction);
  F sum = s.fraction + tail;
  F error = tail - (sum - s.fraction);
  F product = sum * high;
  F rest = fused(sum, high, -product) + fused(error, high, sum * low);
  rest = fused(s.exponent, unit_low, rest);
  F whole = s.exponent * unit_high;
  return whole + (product + rest);
}

template <class F>
MB_FUNC F log2_of(F x) {
  return log_edges(x, log_in_base(split(x), 1.0f, 0.0f, 1.44269502f, 1.92596303e-08f));
}

template <class F>
MB_FUNC F log10_of(F x) {
  F value = log_in_base(split(x), 0.301025391f, 4.60503898e-06f, 0.434294492f, -1.010305e-08f);
  return log_edges(x, value);
}

template <class F>
MB_FUNC F tanh_of(F x) {
  MB_EXACT
  F u = x * x, size = __builtin_elementwise_abs(x);
  F small = fused(x * u,
                  polynomial(u, -0.333333309f, 0.13333208f, -0.0539469661f, 0.0217016021f,
                             -0.0081791611f, 0.00214420384f),
                  x);
  F large = 1.0f - 2.0f / (exp_of(2.0f * limited(size, 0.0f, 20.0f)) + 1.0f);
  return size < F(0.625f) ? with_zero(x, small) : __builtin_elementwise_copysign(large, x);
}

}  // namespace mb
