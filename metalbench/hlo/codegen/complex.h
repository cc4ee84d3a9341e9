// StableHLO's operations on complex numbers: x is the real part, y the imaginary part. C is float2,
// or double2 where double_complex.h is included.
#pragma once
#include "stablehlo.h"

namespace shlo {

// The type of the parts of a complex type, and bounds that depend on it. It is not defined for
// other types, which therefore do not fit the templates below.
template <typename C>
struct ComplexParts;
template <>
struct ComplexParts<float2> {
  using Real = float;
  // A little below the logarithm of the largest number.
  static float most_exponent() { return 80.0f; }
  // Absolute values of numbers between these parts neither overflow nor lose digits.
  static float least_part() { return 1e-37f; }
  static float most_part() { return 1e38f; }
  // From here on a hyperbolic tangent rounds to one.
  static float end_of_tanh() { return 11.0f; }
};
template <typename C>
using RealOf = typename ComplexParts<C>::Real;

// Products with i and -i.
template <typename C, typename T = RealOf<C>>
inline C times_i(C a) {
  return C(-a.y, a.x);
}
template <typename C, typename T = RealOf<C>>
inline C times_minus_i(C a) {
  return C(a.y, -a.x);
}

template <typename C, typename T = RealOf<C>>
inline C conjugate(C a) {
  return C(a.x, -a.y);
}

template <typename C, typename T = RealOf<C>>
inline C times(C a, C b) {
  return C(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// Scaled, so that squares neither overflow nor underflow.
template <typename C, typename T = RealOf<C>>
inline T absolute(C a) {
  const T most = fmax(fabs(a.x), fabs(a.y)), least = fmin(fabs(a.x), fabs(a.y));
  if (isinf(a.x) || isinf(a.y)) return T(INFINITY);
  if (isnan(a.x) || isnan(a.y)) return T(NAN);
  if (most == T(0.0)) return T(0.0);
  const T ratio = least / most;
  return most * sqrt(T(1.0) + ratio * ratio);
}

// Returns the binary exponent of a finite number; 0 for zero, infinities and NaNs.
template <typename T>
inline int exponent_of(T a) {
  if (a == T(0.0) || !isfinite(a)) return 0;
  int exponent;
  frexp(a, exponent);
  return exponent - 1;
}

template <typename C, typename T = RealOf<C>>
inline C scaled(C a, int exponent) {
  return C(ldexp(a.x, exponent), ldexp(a.y, exponent));
}

// Follows annex G of ISO C for infinities and zeros. Both operands are scaled.
template <typename C, typename T = RealOf<C>>
inline C quotient(C a, C b) {
  const T most = fmax(fabs(b.x), fabs(b.y));
  const int above = exponent_of(fmax(fabs(a.x), fabs(a.y))), below = exponent_of(most);
  const C n = scaled(a, -above), d = scaled(b, -below);
  const T square = d.x * d.x + d.y * d.y;
  const C quotient = C(n.x * d.x + n.y * d.y, n.y * d.x - n.x * d.y) / square;
  const C found = scaled(quotient, above - below);
  if (!isnan(found.x) || !isnan(found.y)) return found;
  if (square == T(0.0) && (!isnan(a.x) || !isnan(a.y))) {
    const T infinite = copysign(T(INFINITY), b.x);
    return C(infinite * a.x, infinite * a.y);
  }
  const bool of_infinite = isinf(a.x) || isinf(a.y);
  if (of_infinite && isfinite(b.x) && isfinite(b.y)) {
    const C u = C(copysign(T(isinf(a.x)), a.x), copysign(T(isinf(a.y)), a.y));
    return C(T(INFINITY) * (u.x * b.x + u.y * b.y), T(INFINITY) * (u.y * b.x - u.x * b.y));
  }
  if (isinf(most) && isfinite(a.x) && isfinite(a.y)) {
    const C u = C(copysign(T(isinf(b.x)), b.x), copysign(T(isinf(b.y)), b.y));
    return C(T(0.0) * (a.x * u.x + a.y * u.y), T(0.0) * (a.y * u.x - a.x * u.y));
  }
  return found;
}

// Not a template: Metal's component-wise function has the same name.
inline float2 divide(float2 a, float2 b) { return quotient(a, b); }

template <typename C, typename T = RealOf<C>>
inline C exponential(C a) {
  if (a.y == T(0.0)) return C(exp(a.x), a.y);
  if (a.x == T(INFINITY) && !isfinite(a.y)) return C(T(INFINITY), T(NAN));
  // Two factors: the result may be in range where the exponential alone is not.
  const T half_way = exp(T(0.5) * a.x);
  const T whole = isfinite(half_way * half_way) ? exp(a.x) : half_way;
  const T rest = isfinite(half_way * half_way) ? T(1.0) : half_way;
  return C(whole * cos(a.y) * rest, whole * sin(a.y) * rest);
}

// The logarithm of the absolute value. Near one it is that of 1 + (x^2 - 1 + y^2), and what the
// squares lose in rounding is added to that.
template <typename C, typename T = RealOf<C>>
inline T log_absolute(C a) {
  const T most = fmax(fabs(a.x), fabs(a.y)), least = fmin(fabs(a.x), fabs(a.y));
  if (isinf(most)) return T(INFINITY);
  if ((most > ComplexParts<C>::most_part() || most < ComplexParts<C>::least_part()) &&
      most > T(0.0)) {
    // The absolute value leaves the range of its parts, or is subnormal. Its logarithm does not.
    const T ratio = least / most;
    return log(most) + T(0.5) * log1p(ratio * ratio);
  }
  if (!(most > T(0.5) && most < T(2.0))) return log(absolute(a));
  const T p = most * most, q = least * least;
  const T lost = fma(most, most, -p) + fma(least, least, -q);
  const T above = p - T(1.0), sum = above + q, back = sum - above;
  const T error = (above - (sum - back)) + (q - back) + ((p - above) - T(1.0));
  return T(0.5) * log1p(sum + (error + lost));
}
template <typename C, typename T = RealOf<C>>
inline C logarithm(C a) {
  return C(log_absolute(a), atan2(a.y, a.x));
}

template <typename C, typename T = RealOf<C>>
inline C log_plus_one(C a) {
  const T angle = atan2(a.y, a.x + T(1.0));
  if (fmax(fabs(a.x), fabs(a.y)) > T(0.25)) {
    return C(log_absolute(C(a.x + T(1.0), a.y)), angle);
  }
  return C(T(0.5) * log1p(fma(a.x, a.x + T(2.0), a.y * a.y)), angle);
}

// W. Kahan, Branch cuts for complex elementary functions (1987), scaled.
template <typename C, typename T = RealOf<C>>
inline C square_root(C a) {
  if (a.x == T(0.0) && a.y == T(0.0)) return C(T(0.0), a.y);
  if (isinf(a.y)) return C(T(INFINITY), a.y);
  if (a.x == T(INFINITY)) return C(a.x, isnan(a.y) ? a.y : copysign(T(0.0), a.y));
  if (a.x == -T(INFINITY)) {
    return C(isnan(a.y) ? a.y : T(0.0), copysign(T(INFINITY), a.y));
  }
  // Scale by an even power of two into the middle of the range.
  const int scale = exponent_of(fmax(fabs(a.x), fabs(a.y))) / 2;
  const C b = scaled(a, -2 * scale);
  const T t = ldexp(sqrt(T(0.5) * (fabs(b.x) + absolute(b))), scale);
  const T other = ldexp(b.y, scale) / (T(2.0) * ldexp(t, -scale));
  return a.x >= T(0.0) ? C(t, other) : C(fabs(other), copysign(t, a.y));
}
template <typename C, typename T = RealOf<C>>
inline C reciprocal_root(C a) {
  return quotient(C(T(1.0), T(0.0)), square_root(a));
}

template <typename C, typename T = RealOf<C>>
inline C polar(T length, T angle) {
  return C(length * cos(angle), length * sin(angle));
}
// Scale by a power of two with a multiple of 3 as exponent, whose cube root is exact.
template <typename C, typename T = RealOf<C>>
inline C cbrt(C a) {
  const int third = exponent_of(fmax(fabs(a.x), fabs(a.y))) / 3;
  const T length = ldexp(cbrt(absolute(scaled(a, -3 * third))), third);
  return polar<C>(length, atan2(a.y, a.x) / T(3.0));
}
template <typename C, typename T = RealOf<C>>
inline C power(C a, C b) {
  if (b.x == T(0.0) && b.y == T(0.0)) return C(T(1.0), T(0.0));
  if (a.x == T(0.0) && a.y == T(0.0)) {
    return b.x > T(0.0) ? C(T(0.0), T(0.0)) : C(b.y == T(0.0) ? T(INFINITY) : T(NAN), T(NAN));
  }
  return exponential(times(b, logarithm(a)));
}
template <typename C, typename T = RealOf<C>>
inline C sign(C a) {
  if (a.x == T(0.0) && a.y == T(0.0)) return a;
  const C b = scaled(a, -exponent_of(fmax(fabs(a.x), fabs(a.y))));
  const T length = absolute(b);
  return C(b.x / length, b.y / length);
}

template <typename T>
inline T hyperbolic_sine(T x) {
  const T less = expm1(fabs(x));
  const T found = isinf(less) ? exp(T(0.5) * fabs(x)) * exp(T(0.5) * fabs(x))
                              : T(0.5) * (less + less / (less + T(1.0)));
  return copysign(found, x);
}
template <typename T>
inline T hyperbolic_cosine(T x) {
  const T root = exp(T(0.5) * fabs(x)), whole = root * root;
  return isinf(whole) ? T(0.5) * root * root : T(0.5) * (exp(fabs(x)) + exp(-fabs(x)));
}
// A product with the hyperbolic cosine or sine of a large number, in two factors: the product may
// be in range where the hyperbolic function is not.
template <typename T>
inline T times_large_hyperbolic(T factor, T x) {
  const T root = exp(T(0.5) * fabs(x));
  return T(0.5) * factor * root * root;
}
template <typename C, typename T = RealOf<C>>
inline C sine(C a) {
  if (isfinite(a.y) && fabs(a.y) > ComplexParts<C>::most_exponent()) {
    return C(times_large_hyperbolic(sin(a.x), a.y),
             copysign(T(1.0), a.y) * times_large_hyperbolic(cos(a.x), a.y));
  }
  return C(sin(a.x) * hyperbolic_cosine(a.y),
           a.y == T(0.0) ? a.y : cos(a.x) * hyperbolic_sine(a.y));
}
template <typename C, typename T = RealOf<C>>
inline C cosine(C a) {
  if (isfinite(a.y) && fabs(a.y) > ComplexParts<C>::most_exponent()) {
    return C(times_large_hyperbolic(cos(a.x), a.y),
             -copysign(T(1.0), a.y) * times_large_hyperbolic(sin(a.x), a.y));
  }
  return C(cos(a.x) * hyperbolic_cosine(a.y),
           a.y == T(0.0) ? -a.y : -sin(a.x) * hyperbolic_sine(a.y));
}
// From the same paper by W. Kahan.
template <typename C, typename T = RealOf<C>>
inline C tanh(C a) {
  if (isfinite(a.x) && !isfinite(a.y)) return C(T(NAN), T(NAN));
  if (fabs(a.x) > ComplexParts<C>::end_of_tanh()) {
    const T turn = isfinite(a.y) ? sin(a.y) * cos(a.y) : T(0.0);
    return C(copysign(T(1.0), a.x), T(4.0) * turn * exp(-T(2.0) * fabs(a.x)));
  }
  const T t = tan(a.y), beta = T(1.0) + t * t;
  const T s = hyperbolic_sine(a.x), rho = sqrt(T(1.0) + s * s);
  if (isinf(t)) return C(rho / s, T(1.0) / t);
  const T below = T(1.0) + beta * s * s;
  return C(beta * rho * s / below, t / below);
}
template <typename C, typename T = RealOf<C>>
inline C tangent(C a) {
  return times_minus_i(shlo::tanh(times_i(a)));
}

template <typename C, typename T = RealOf<C>>
inline C exponential_minus_one(C a) {
  // Subtracting 1 has no effect here, and `exponential` avoids overflow.
  if (a.x > ComplexParts<C>::most_exponent() && isfinite(a.x) && a.y != T(0.0))
    return exponential(a);
  const T half_sine = sin(T(0.5) * a.y);
  const T less = expm1(a.x);
  if (a.y == T(0.0)) return C(less, a.y);
  return C(less * cos(a.y) - T(2.0) * half_sine * half_sine, exp(a.x) * sin(a.y));
}
template <typename C, typename T = RealOf<C>>
inline C logistic(C a) {
  const C below = exponential(-a);
  return quotient(C(T(1.0), T(0.0)), C(T(1.0) + below.x, below.y));
}
template <typename C, typename T = RealOf<C>>
inline C arc_tangent(C y, C x) {
  // The quotient below does not depend on a common scale.
  const T most = fmax(fmax(fabs(x.x), fabs(x.y)), fmax(fabs(y.x), fabs(y.y)));
  const int exponent = exponent_of(most);
  x = scaled(x, -exponent);
  y = scaled(y, -exponent);
  const C root = square_root(times(x, x) + times(y, y));
  return times_minus_i(logarithm(quotient(x + times_i(y), root)));
}

// Lexicographic order: real part, then imaginary part.
template <typename C, typename T = RealOf<C>>
inline bool is_less(C a, C b) {
  return a.x < b.x || (a.x == b.x && a.y < b.y);
}
template <typename C, typename T = RealOf<C>>
inline C maximum(C a, C b) {
  return is_less(a, b) ? b : a;
}
template <typename C, typename T = RealOf<C>>
inline C minimum(C a, C b) {
  return is_less(b, a) ? b : a;
}

}  // namespace shlo
