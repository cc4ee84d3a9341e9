// sin, cos, tan and their variants in units of pi. The argument is reduced in double, which is
// exact enough for |x| < 2^30; precise:: reduces larger arguments with the relevant bits of 2/pi.
#pragma once

#include "wide.h"

namespace mb {

// x = quarter * pi/2 + rest, |rest| <= pi/4, in each lane.
template <class F>
struct Reduced {
  doubles_of<F> rest;
  ints_of<F> quarter;
};

template <class F>
MB_FUNC Reduced<F> reduce(F x) {
  MB_EXACT
  using D = doubles_of<F>;
  D w = lanes_cast<D>(x);
  D shifted = fused(w, D(0.63661977236758138), D(wide_rounder));
  D n = shifted - wide_rounder;
  D r = fused(n, D(-1.5707963267948966), w);
  r = fused(n, D(-6.123233995736766e-17), r);
  // Beyond 2^50 the reduction is meaningless: keep the polynomials in range.
  r = limited(r, -0.79, 0.79);
  return Reduced<F>{r, lanes_cast<ints_of<F>>(as_type<longs_of<F>>(shifted))};
}

// Payne-Hanek reduction: 96 bits of 2/pi, from the first one that is relevant for x.
MB_FUNC Reduced<float> reduce_any(float x) {
  MB_EXACT
  constexpr uint two_over_pi[] = {0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                  0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
  int exponent = ((bits(x) >> 23) & 255) - 150;
  if (exponent < 0) return reduce(x);
  if (exponent > 104) return Reduced<float>{__builtin_nan(""), 0};
  ulong mantissa = uint(bits(x) & 0x7fffff) | 0x800000;
  // x 2/pi = mantissa 2^exponent 2/pi; bits of 2/pi worth 4 or more are whole turns.
  int first = exponent + 62;
  uint word[3];
  for (int i = 0; i < 3; ++i) {
    int at = first / 32 + i, shift = first % 32;
    uint next = at + 1 < 9 ? two_over_pi[at + 1] : 0;
    word[i] = uint(((ulong(two_over_pi[at]) << 32 | next) << shift) >> 32);
  }
  ulong low = mantissa * word[2];
  ulong middle = mantissa * word[1] + (low >> 32);
  ulong turn = ((mantissa * word[0]) << 32) + middle;
  uint quarter = uint((turn + (1ul << 61)) >> 62);
  long part = long(turn - (ulong(quarter) << 62));
  double rest = (double(part) * 0x1p-62 + double(uint(low)) * 0x1p-94) * half_pi;
  return x < 0.0f ? Reduced<float>{-rest, -int(quarter)} : Reduced<float>{rest, int(quarter)};
}

template <class F>
MB_FUNC Reduced<F> reduce_half_turns(F x) {
  MB_EXACT
  using D = doubles_of<F>;
  // All floats from here on are even.
  x = __builtin_elementwise_abs(x) >= F(16777216.0f) ? x - x : x;
  D w = lanes_cast<D>(x);
  D shifted = fused(w, D(2.0), D(wide_rounder));
  D r = fused(shifted - wide_rounder, D(-0.5), w) * pi;
  return Reduced<F>{r, lanes_cast<ints_of<F>>(as_type<longs_of<F>>(shifted))};
}

template <class F>
MB_FUNC F sin_of(Reduced<F> a) {
  MB_EXACT
  F r = lanes_cast<F>(a.rest), u = r * r;
  F sine = fused(r * u, polynomial(u, -0.166666549f, 0.00833217352f, -0.000195166534f), r);
  sine = with_zero(r, sine);
  F p = polynomial(u, 0.0416666467f, -0.00138873614f, 2.44377258e-05f);
  F cosine = fused(u * u, p, fused(u, F(-0.5f), F(1.0f)));
  F value = (a.quarter & 1) != 0 ? cosine : sine;
  return (a.quarter & 2) != 0 ? -value : value;
}
template <class F>
MB_FUNC F cos_of(Reduced<F> a) {
  return sin_of(Reduced<F>{a.rest, a.quarter + 1});
}
MB_FUNC float tan_of(Reduced<float> a) {
  MB_EXACT
  double u = a.rest * a.rest;
  double s = a.rest * polynomial(u, 0.99999999999999556, -0.1666666666661612,
                                 0.0083333333237990363, -0.00019841263258720584,
                                 2.7555263801190057e-06, -2.4755984539525661e-08);
  double c =
      polynomial(u, 1.0, -0.49999999999997718, 0.041666666666139565, -0.0013888888846771733,
                 2.4801571477224096e-05, -2.7554258581602487e-07, 2.058031703119822e-09);
  return float(a.quarter & 1 ? -c / s : s / c);
}

}  // namespace mb
