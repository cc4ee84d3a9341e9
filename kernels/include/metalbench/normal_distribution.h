// The normal distribution function P, to a few roundings in relative error. Metal has no erf.
// For |x| < 1, P(x) = 1/2 + x C(x^2). Beyond, the tail Q(t) = 1 - P(t) is exp(-t^2/2) T(s) with s =
// 1/(t + 2), and t^2/2 is split into an exact and a small part, so that the relative error stays
// small far out. C, T and the polynomial of exp are minimax fits in relative error (7e-10, 5e-8,
// 4e-9).
#pragma once
#include "metalbench/exponentials.h"

namespace metalbench {

// 1 - P(t) for 1 <= t <= 13.
template <typename T>
inline T normal_tail(T t) {
  using Uint = typename Bits<T>::Uint;
  // Twelve bits of t: the square is exact.
  const T high = as_type<T>(as_type<Uint>(t) & Uint(0xfffff000u));
  const T e = exp_of_sum(-0.5f * high * high, -0.5f * (t - high) * (t + high));
  const T s = 1.0f / (t + 2.0f);
  T p = fma(s, T(-32.772636f), T(47.99241f));
  p = fma(p, s, T(-21.902178f));
  p = fma(p, s, T(0.20790733f));
  p = fma(p, s, T(0.6135685f));
  p = fma(p, s, T(1.2048049f));
  p = fma(p, s, T(0.7977565f));
  p = fma(p, s, T(0.3989417f));
  return e * (s * p);
}

// (P(x) - 1/2) / x for |x| < 1, where z = x^2.
template <typename T>
inline T normal_slope(T z) {
  T p = fma(z, T(-7.654047e-6f), T(1.1348601e-4f));
  p = fma(p, z, T(-0.0011863296f));
  p = fma(p, z, T(0.009973323f));
  p = fma(p, z, T(-0.06649036f));
  return fma(p, z, T(0.3989423f));
}

// x P(x) for |x| < 1.
template <typename T>
inline T normal_centre(T x) {
  return x * fma(x, normal_slope(x * x), T(0.5f));
}

// x P(x). Both forms are computed and one is taken: no branch parts the lanes.
template <typename T>
inline T times_normal(T x) {
  const T t = abs(x);
  // Beyond 13 the tail is below the smallest normal number.
  const T q = select(T(0.0f), normal_tail(limited(t, 0.0f, 13.0f)), t < T(13.0f));
  const T outside = x * select(1.0f - q, q, x < T(0.0f));
  return select(outside, normal_centre(x), t < T(1.0f));
}

}  // namespace metalbench
