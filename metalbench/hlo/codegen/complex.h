// StableHLO's operations on complex numbers: x is the real part, y the imaginary part.
#pragma once
#include "stablehlo.h"

namespace shlo {

// Products with i and -i.
inline float2 times_i(float2 a) { return float2(-a.y, a.x); }
inline float2 times_minus_i(float2 a) { return float2(a.y, -a.x); }

inline float2 conjugate(float2 a) { return float2(a.x, -a.y); }

inline float2 times(float2 a, float2 b) {
  return float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Scaled, so that squares neither overflow nor underflow.
inline float absolute(float2 a) {
  const float most = fmax(fabs(a.x), fabs(a.y)), least = fmin(fabs(a.x), fabs(a.y));
  if (isinf(a.x) || isinf(a.y)) return INFINITY;
  if (isnan(a.x) || isnan(a.y)) return NAN;
  if (most == 0.0f) return 0.0f;
  const float ratio = least / most;
  return most * precise::sqrt(1.0f + ratio * ratio);
}

// Returns the binary exponent of a finite number; 0 for zero, infinities and NaNs.
inline int exponent_of(float a) {
  if (a == 0.0f || !isfinite(a)) return 0;
  int exponent;
  frexp(a, exponent);
  return exponent - 1;
}

inline float2 scaled(float2 a, int exponent) {
  return float2(ldexp(a.x, exponent), ldexp(a.y, exponent));
}

// Follows annex G of ISO C for infinities and zeros. Both operands are scaled.
inline float2 divide(float2 a, float2 b) {
  const float most = fmax(fabs(b.x), fabs(b.y));
  const int above = exponent_of(fmax(fabs(a.x), fabs(a.y))), below = exponent_of(most);
  const float2 n = scaled(a, -above), d = scaled(b, -below);
  const float square = d.x * d.x + d.y * d.y;
  const float2 quotient = float2(n.x * d.x + n.y * d.y, n.y * d.x - n.x * d.y) / square;
  const float2 found = scaled(quotient, above - below);
  if (!isnan(found.x) || !isnan(found.y)) return found;
  if (square == 0.0f && (!isnan(a.x) || !isnan(a.y))) {
    const float infinite = copysign(INFINITY, b.x);
    return float2(infinite * a.x, infinite * a.y);
  }
  const bool of_infinite = isinf(a.x) || isinf(a.y);
  if (of_infinite && isfinite(b.x) && isfinite(b.y)) {
    const float2 u = float2(copysign(float(isinf(a.x)), a.x), copysign(float(isinf(a.y)), a.y));
    return float2(INFINITY * (u.x * b.x + u.y * b.y), INFINITY * (u.y * b.x - u.x * b.y));
  }
  if (isinf(most) && isfinite(a.x) && isfinite(a.y)) {
    const float2 u = float2(copysign(float(isinf(b.x)), b.x), copysign(float(isinf(b.y)), b.y));
    return float2(0.0f * (a.x * u.x + a.y * u.y), 0.0f * (a.y * u.x - a.x * u.y));
  }
  return found;
}

inline float2 exponential(float2 a) {
  if (a.y == 0.0f) return float2(precise::exp(a.x), a.y);
  if (a.x == INFINITY && !isfinite(a.y)) return float2(INFINITY, NAN);
  // Two factors: the result may be in range where the exponential alone is not.
  const float half_way = precise::exp(0.5f * a.x);
  const float whole = isfinite(half_way * half_way) ? precise::exp(a.x) : half_way;
  const float rest = isfinite(half_way * half_way) ? 1.0f : half_way;
  return float2(whole * precise::cos(a.y) * rest, whole * precise::sin(a.y) * rest);
}

// The logarithm of the absolute value. Near one it is that of 1 + (x^2 - 1 + y^2), and what the
// squares lose in rounding is added to that.
inline float log_absolute(float2 a) {
  const float most = fmax(fabs(a.x), fabs(a.y)), least = fmin(fabs(a.x), fabs(a.y));
  if (isinf(most)) return INFINITY;
  if ((most > 1e38f || most < 1e-37f) && most > 0.0f) {
    // The absolute value leaves the range of float, or is subnormal. Its logarithm does not.
    const float ratio = least / most;
    return precise::log(most) + 0.5f * log1p(ratio * ratio);
  }
  if (!(most > 0.5f && most < 2.0f)) return precise::log(absolute(a));
  const float p = most * most, q = least * least;
  const float lost = fma(most, most, -p) + fma(least, least, -q);
  const float above = p - 1.0f, sum = above + q, back = sum - above;
  const float error = (above - (sum - back)) + (q - back) + ((p - above) - 1.0f);
  return 0.5f * log1p(sum + (error + lost));
}
inline float2 logarithm(float2 a) { return float2(log_absolute(a), precise::atan2(a.y, a.x)); }

inline float2 log_plus_one(float2 a) {
  const float angle = precise::atan2(a.y, a.x + 1.0f);
  if (fmax(fabs(a.x), fabs(a.y)) > 0.25f) {
    return float2(log_absolute(float2(a.x + 1.0f, a.y)), angle);
  }
  return float2(0.5f * log1p(fma(a.x, a.x + 2.0f, a.y * a.y)), angle);
}

// W. Kahan, Branch cuts for complex elementary functions (1987), scaled.
inline float2 square_root(float2 a) {
  if (a.x == 0.0f && a.y == 0.0f) return float2(0.0f, a.y);
  if (isinf(a.y)) return float2(INFINITY, a.y);
  if (a.x == INFINITY) return float2(a.x, isnan(a.y) ? a.y : copysign(0.0f, a.y));
  if (a.x == -INFINITY) {
    return float2(isnan(a.y) ? a.y : 0.0f, copysign(INFINITY, a.y));
  }
  // Scale by an even power of two into the middle of the range.
  const int scale = exponent_of(fmax(fabs(a.x), fabs(a.y))) / 2;
  const float2 b = scaled(a, -2 * scale);
  const float t = ldexp(precise::sqrt(0.5f * (fabs(b.x) + absolute(b))), scale);
  const float other = ldexp(b.y, scale) / (2.0f * ldexp(t, -scale));
  return a.x >= 0.0f ? float2(t, other) : float2(fabs(other), copysign(t, a.y));
}
inline float2 reciprocal_root(float2 a) { return divide(float2(1.0f, 0.0f), square_root(a)); }

inline float2 polar(float length, float angle) {
  return float2(length * precise::cos(angle), length * precise::sin(angle));
}
// Scale by a power of two with a multiple of 3 as exponent, whose cube root is exact.
inline float2 cbrt(float2 a) {
  const int third = exponent_of(fmax(fabs(a.x), fabs(a.y))) / 3;
  const float length = ldexp(cbrt(absolute(scaled(a, -3 * third))), third);
  return polar(length, precise::atan2(a.y, a.x) / 3.0f);
}
inline float2 power(float2 a, float2 b) {
  if (b.x == 0.0f && b.y == 0.0f) return float2(1.0f, 0.0f);
  if (a.x == 0.0f && a.y == 0.0f) {
    return b.x > 0.0f ? float2(0.0f, 0.0f) : float2(b.y == 0.0f ? INFINITY : NAN, NAN);
  }
  return exponential(times(b, logarithm(a)));
}
inline float2 sign(float2 a) {
  if (a.x == 0.0f && a.y == 0.0f) return a;
  const float2 b = scaled(a, -exponent_of(fmax(fabs(a.x), fabs(a.y))));
  const float length = absolute(b);
  return float2(b.x / length, b.y / length);
}

inline float hyperbolic_sine(float x) {
  const float less = expm1(fabs(x));
  const float found = isinf(less) ? precise::exp(0.5f * fabs(x)) * precise::exp(0.5f * fabs(x))
                                  : 0.5f * (less + less / (less + 1.0f));
  return copysign(found, x);
}
inline float hyperbolic_cosine(float x) {
  const float root = precise::exp(0.5f * fabs(x)), whole = root * root;
  return isinf(whole) ? 0.5f * root * root
                      : 0.5f * (precise::exp(fabs(x)) + precise::exp(-fabs(x)));
}
// A product with the hyperbolic cosine or sine of a large number, in two factors: the product may
// be in range where the hyperbolic function is not.
inline float times_large_hyperbolic(float factor, float x) {
  const float root = precise::exp(0.5f * fabs(x));
  return 0.5f * factor * root * root;
}
inline float2 sine(float2 a) {
  if (isfinite(a.y) && fabs(a.y) > 80.0f) {
    return float2(times_large_hyperbolic(precise::sin(a.x), a.y),
                  copysign(1.0f, a.y) * times_large_hyperbolic(precise::cos(a.x), a.y));
  }
  return float2(precise::sin(a.x) * hyperbolic_cosine(a.y),
                a.y == 0.0f ? a.y : precise::cos(a.x) * hyperbolic_sine(a.y));
}
inline float2 cosine(float2 a) {
  if (isfinite(a.y) && fabs(a.y) > 80.0f) {
    return float2(times_large_hyperbolic(precise::cos(a.x), a.y),
                  -copysign(1.0f, a.y) * times_large_hyperbolic(precise::sin(a.x), a.y));
  }
  return float2(precise::cos(a.x) * hyperbolic_cosine(a.y),
                a.y == 0.0f ? -a.y : -precise::sin(a.x) * hyperbolic_sine(a.y));
}
// From the same paper by W. Kahan.
inline float2 tanh(float2 a) {
  if (isfinite(a.x) && !isfinite(a.y)) return float2(NAN, NAN);
  if (fabs(a.x) > 11.0f) {
    const float turn = isfinite(a.y) ? precise::sin(a.y) * precise::cos(a.y) : 0.0f;
    return float2(copysign(1.0f, a.x), 4.0f * turn * precise::exp(-2.0f * fabs(a.x)));
  }
  const float t = precise::tan(a.y), beta = 1.0f + t * t;
  const float s = hyperbolic_sine(a.x), rho = precise::sqrt(1.0f + s * s);
  if (isinf(t)) return float2(rho / s, 1.0f / t);
  const float below = 1.0f + beta * s * s;
  return float2(beta * rho * s / below, t / below);
}
inline float2 tangent(float2 a) { return times_minus_i(tanh(times_i(a))); }

inline float2 exponential_minus_one(float2 a) {
  // Subtracting 1 has no effect here, and `exponential` avoids overflow.
  if (a.x > 80.0f && isfinite(a.x) && a.y != 0.0f) return exponential(a);
  const float half_sine = precise::sin(0.5f * a.y);
  const float less = expm1(a.x);
  if (a.y == 0.0f) return float2(less, a.y);
  return float2(less * precise::cos(a.y) - 2.0f * half_sine * half_sine,
                precise::exp(a.x) * precise::sin(a.y));
}
inline float2 logistic(float2 a) {
  const float2 below = exponential(-a);
  return divide(float2(1.0f, 0.0f), float2(1.0f + below.x, below.y));
}
inline float2 arc_tangent(float2 y, float2 x) {
  // The quotient below does not depend on a common scale.
  const float2 most = fmax(fabs(x), fabs(y));
  const int exponent = exponent_of(fmax(most.x, most.y));
  x = scaled(x, -exponent);
  y = scaled(y, -exponent);
  const float2 root = square_root(times(x, x) + times(y, y));
  return times_minus_i(logarithm(divide(x + times_i(y), root)));
}

// Lexicographic order: real part, then imaginary part.
inline bool is_less(float2 a, float2 b) { return a.x < b.x || (a.x == b.x && a.y < b.y); }
inline float2 maximum(float2 a, float2 b) { return is_less(a, b) ? b : a; }
inline float2 minimum(float2 a, float2 b) { return is_less(b, a) ? b : a; }

}  // namespace shlo
