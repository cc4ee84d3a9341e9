// StableHLO's operations where functions of Metal differ or do not exist.
#pragma once
#include <metal_stdlib>

namespace shlo {

using namespace metal;

// double_math.h adds overloads for double to these, which would hide Metal's.
using metal::ceil;
using metal::copysign;
using metal::fabs;
using metal::floor;
using metal::fma;
using metal::fmax;
using metal::fmin;
using metal::frexp;
using metal::isfinite;
using metal::isinf;
using metal::isnan;
using metal::ldexp;
using metal::rint;
using metal::round;
inline float atan2(float y, float x) { return precise::atan2(y, x); }
inline float cos(float x) { return precise::cos(x); }
inline float exp(float x) { return precise::exp(x); }
inline float fmod(float x, float y) { return precise::fmod(x, y); }
inline float log(float x) { return precise::log(x); }
inline float pow(float x, float y) { return precise::pow(x, y); }
inline float rsqrt(float x) { return 1.0f / precise::sqrt(x); }
inline float sin(float x) { return precise::sin(x); }
inline float sqrt(float x) { return precise::sqrt(x); }
inline float tan(float x) { return precise::tan(x); }

// IEEE 754-2019 maximum: NaNs propagate, and +0 is above -0. It has no branches, which would
// diverge.
inline float maximum(float a, float b) {
  const float zero = as_type<float>(as_type<uint>(a) & as_type<uint>(b));
  const float found = a == b ? zero : a > b ? a : b;
  return isnan(a) | isnan(b) ? as_type<float>(0x7fc00000u) : found;
}
inline float minimum(float a, float b) {
  const float zero = as_type<float>(as_type<uint>(a) | as_type<uint>(b));
  const float found = a == b ? zero : a < b ? a : b;
  return isnan(a) | isnan(b) ? as_type<float>(0x7fc00000u) : found;
}

// Division by zero returns all ones. The smallest number divided by -1 returns itself.
template <typename T> T divide(T a, T b) {
  if (b == T(0)) return T(~T(0));
  if (T(~T(0)) < T(0) && b == T(~T(0))) return T(T(0) - a);
  return T(a / b);
}
inline int divide(int a, int b) {
  if (b == 0) return -1;
  return b == -1 ? int(0u - uint(a)) : a / b;
}
inline long divide(long a, long b) {
  if (b == 0) return -1;
  return b == -1 ? long(0ul - ulong(a)) : a / b;
}
template <typename T> T remainder(T a, T b) {
  if (b == T(0)) return a;
  if (T(~T(0)) < T(0) && b == T(~T(0))) return T(0);
  return T(a % b);
}

// By repeated squaring; for a negative exponent, the truncated quotient 1 / a^-b. U wraps.
template <typename U, typename T> T integer_power(T a, T b) {
  if (b < T(0)) {
    if (a == T(1)) return a;
    if (T(a + T(1)) == T(0)) return (b & T(1)) ? a : T(1);
    return T(0);
  }
  U result = U(1), base = U(a);
  for (U left = U(b); left != U(0); left >>= 1) {
    if (left & U(1)) result *= base;
    base *= base;
  }
  return T(result);
}

// W. Kahan's method: the rounding error of the exponential cancels against that of the logarithm.
inline float expm1(float x) {
  if (x > 88.8f) return precise::exp(x);
  const float u = precise::exp(x);
  if (u == 1.0f) return x;
  const float less = u - 1.0f;
  if (less == -1.0f) return -1.0f;
  return fabs(x) > 1.0f ? less : less * x / precise::log(u);
}
inline float log1p(float x) {
  const float u = 1.0f + x;
  if (u == 1.0f || x == INFINITY) return x;
  return precise::log(u) * (x / (u - 1.0f));
}
inline float cbrt(float x) {
  if (x == 0.0f || !isfinite(x)) return x;
  // Scale subnormal numbers, whose exponent is fixed.
  const float scaled = fabs(x) < 1.2e-38f ? fabs(x) * 16777216.0f : fabs(x);
  float root = precise::pow(scaled, 1.0f / 3.0f);
  root -= (root - scaled / (root * root)) / 3.0f;
  root = fabs(x) < 1.2e-38f ? root / 256.0f : root;
  return x < 0.0f ? -root : root;
}
inline float sign(float x) {
  return isnan(x) || x == 0.0f ? x : x < 0.0f ? -1.0f : 1.0f;
}
inline float tanh(float x) {
  return isnan(x) ? x : fabs(x) < 1.0e-4f ? x : fabs(x) > 10.0f ? sign(x) : precise::tanh(x);
}
inline float logistic(float x) { return 1.0f / (1.0f + precise::exp(-x)); }

// Returns an integer in the order of IEEE 754's totalOrder.
inline int total_order(float x) {
  const int bits = as_type<int>(x);
  return bits < 0 ? int(0x80000000u) - bits - 1 : bits;
}
inline int total_order(half x) {
  const int bits = as_type<short>(x);
  return bits < 0 ? -32769 - bits : bits;
}
inline int total_order(bfloat x) {
  const int bits = as_type<short>(x);
  return bits < 0 ? -32769 - bits : bits;
}

// Truncates and saturates; a NaN becomes 0. `low` and `high` are the type's limits, `beyond` is the
// smallest float above them.
template <typename T> T to_integer(float x, float least, float beyond, T low, T high) {
  if (isnan(x)) return T(0);
  if (x < least) return low;
  return x >= beyond ? high : T(x);
}

// Rounds to the nearest number of a format with fewer bits, ties to even; overflow is infinite.
inline float reduce_precision(float x, int exponent_bits, int mantissa_bits) {
  // Without bits of the mantissa there is no NaN.
  if (isnan(x)) return mantissa_bits > 0 ? x : copysign(INFINITY, x);
  uint bits = as_type<uint>(x);
  if (mantissa_bits < 23) {
    const uint last = (bits >> (23 - mantissa_bits)) & 1u;
    bits += (1u << (22 - mantissa_bits)) - 1u + last;
    bits &= ~((1u << (23 - mantissa_bits)) - 1u);
  }
  if (exponent_bits < 8) {
    const uint bias = (1u << (exponent_bits - 1)) - 1u;
    const uint sign = bits & 0x80000000u, exponent = bits & 0x7f800000u;
    if (exponent > (127u + bias) << 23) bits = sign | 0x7f800000u;
    if (exponent <= (127u - bias) << 23) bits = sign;
  }
  return as_type<float>(bits);
}

// Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011): Threefry-2x32, 20 rounds.
inline uint2 threefry(ulong key, ulong counter) {
  const uint distances[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint k0 = uint(key), k1 = uint(key >> 32);
  const uint keys[3] = {k0, k1, k0 ^ k1 ^ 0x1BD11BDAu};
  uint2 x = uint2(uint(counter) + k0, uint(counter >> 32) + k1);
  for (int group = 0; group < 5; ++group) {
    for (int round = 0; round < 4; ++round) {
      const uint distance = distances[group % 2 * 4 + round];
      x.x += x.y;
      x.y = x.x ^ ((x.y << distance) | (x.y >> (32u - distance)));
    }
    x += uint2(keys[(group + 1) % 3], keys[(group + 2) % 3] + uint(group + 1));
  }
  return x;
}
// From the same paper: Philox-4x32, 10 rounds.
inline uint4 philox(ulong key, ulong low, ulong high) {
  uint2 k = uint2(uint(key), uint(key >> 32));
  uint4 x = uint4(uint(low), uint(low >> 32), uint(high), uint(high >> 32));
  for (int round = 0; round < 10; ++round) {
    const ulong first = ulong(x.x) * 0xD2511F53ul, second = ulong(x.z) * 0xCD9E8D57ul;
    x = uint4(uint(second >> 32) ^ x.y ^ k.x, uint(second), uint(first >> 32) ^ x.w ^ k.y,
              uint(first));
    k += uint2(0x9E3779B9u, 0xBB67AE85u);
  }
  return x;
}

} // namespace shlo
