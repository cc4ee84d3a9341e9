// What Metal's library lacks near exp: exp of a sum, exp(x) - 1 and log(1 + exp(-t)), accurate
// where the textbook's form cancels. Templates on float and its vectors; no branches, so that lanes
// stay together.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

// The integers with the bits of T.
template <typename T>
struct Bits;
template <>
struct Bits<float> {
  using Int = int;
  using Uint = uint;
};
template <>
struct Bits<float2> {
  using Int = int2;
  using Uint = uint2;
};
template <>
struct Bits<float3> {
  using Int = int3;
  using Uint = uint3;
};
template <>
struct Bits<float4> {
  using Int = int4;
  using Uint = uint4;
};

// min(max(x, low), high), but NaN stays NaN: Metal's min, max and clamp drop it.
template <typename T>
inline T limited(T x, float low, float high) {
  x = select(x, T(low), x < T(low));
  return select(x, T(high), x > T(high));
}

// 2^k of a whole number -127 < k < 128.
template <typename T>
inline T power_of_two(T k) {
  using Int = typename Bits<T>::Int;
  return as_type<T>((Int(k) + 127) << 23);
}

// x - k ln 2. The first part of ln 2 has zeros at its end, so that its product with k is exact.
template <typename T>
inline T less_ln2(T x, T k) {
  return fma(k, T(-1.42860677e-6f), fma(k, T(-0.693145752f), x));
}

// exp(whole + part) for -87 <= whole <= 0 and |part| << 1. The error of exp is that of its
// argument: a square, say, is rounded to 2^-24 of its size, but can be given as an exact `whole`
// and a small `part`.
template <typename T>
inline T exp_of_sum(T whole, T part) {
  const T k = rint(whole * 1.44269504f);
  const T r = less_ln2(whole, k) + part;
  T p = fma(r, T(0.0013814565f), T(0.008369753f));
  p = fma(p, r, T(0.04166845f));
  p = fma(p, r, T(0.16666512f));
  p = fma(p, r, T(0.49999994f));
  p = fma(p, r, T(1.0f));
  p = fma(p, r, T(1.0f));
  return p * power_of_two(k);
}

// exp(x) - 1 for x <= `most` <= 80 (what is above counts as `most`). exp(x) rounds near 1, and the
// subtraction would leave that error alone: so exp(r) - 1 is a polynomial without constant term,
// and the power of two comes in afterwards.
template <typename T>
inline T exp_minus_one_until(T x, float most) {
  x = limited(x, -87.0f, most);
  const T k = rint(x * 1.44269504f);
  const T r = less_ln2(x, k);
  T p = fma(r, T(1.0f / 5040), T(1.0f / 720));
  p = fma(p, r, T(1.0f / 120));
  p = fma(p, r, T(1.0f / 24));
  p = fma(p, r, T(1.0f / 6));
  p = fma(p, r, T(0.5f));
  p = fma(p * r, r, r);
  const T scale = power_of_two(k);
  return fma(p, scale, scale - 1.0f);
}

template <typename T>
inline T exp_minus_one(T x) {
  return exp_minus_one_until(x, 0.0f);
}

// log(1 + exp(-t)) for t >= 0. 1 + e loses what a small e is made of; with s = e / (2 + e) it is 2
// artanh(s), a series in s^2 <= 1/9 that needs no logarithm.
template <typename T>
inline T log_one_plus_exp_minus(T t) {
  const T e = precise::exp(-t);
  const T s = e / (2.0f + e);
  const T z = s * s;
  T p = fma(z, T(1.0f / 15), T(1.0f / 13));
  p = fma(p, z, T(1.0f / 11));
  p = fma(p, z, T(1.0f / 9));
  p = fma(p, z, T(1.0f / 7));
  p = fma(p, z, T(1.0f / 5));
  p = fma(p, z, T(1.0f / 3));
  p = fma(p, z, T(1.0f));
  return 2.0f * s * p;
}

}  // namespace metalbench
