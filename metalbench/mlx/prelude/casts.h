// Small functions on numbers.
#pragma once

#include "limits.h"

template <typename T, typename U>
inline T ceildiv(T n, U by) {
  return (n + by - 1) / by;
}

// By way of 1 + x as it was rounded, so that its error cancels.
inline float log1p(float x) {
  float sum = 1.0f + x;
  if (sum == Limits<float>::max || sum == 1.0f) return sum == 1.0f ? x : sum;
  return x * (metal::log(sum) / (sum - 1.0f));
}
inline bfloat16_t log1p(bfloat16_t x) {
  return static_cast<bfloat16_t>(log1p(static_cast<float>(x)));
}
inline complex64_t log1p(complex64_t z) {
  float angle = metal::atan2(z.imag, z.real + 1.0f);
  // |1 + z|^2 = 1 + excess, and the excess keeps its digits where z is small.
  float excess = z.real * (2.0f + z.real) + z.imag * z.imag;
  float size = metal::precise::sqrt(z.real * z.real + z.imag * z.imag);
  if (size >= 0.5f) return complex64_t(0.5f * metal::log(1.0f + excess), angle);
  return complex64_t(excess == 0.0f ? z.real : 0.5f * log1p(excess), angle);
}

// Whether a number is zero is asked of its bits: subnormal numbers are not.
template <typename U, typename T>
inline U cast_to(T x) {
  return static_cast<U>(x);
}
template <>
inline bool cast_to<bool, float>(float x) {
  return (as_type<uint32_t>(x) & 0x7fffffffu) != 0;
}
template <>
inline bool cast_to<bool, bfloat16_t>(bfloat16_t x) {
  return (as_type<uint16_t>(x) & 0x7fff) != 0;
}
template <>
inline bool cast_to<bool, complex64_t>(complex64_t x) {
  return cast_to<bool>(x.real) || cast_to<bool>(x.imag);
}
