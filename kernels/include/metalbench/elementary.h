// Elementary functions as function objects on float and its vectors, for elementwise kernels: what
// Metal's library lacks (expm1, log1p, erf, its inverse), and what it has, accurately. NaN stays
// NaN.
#pragma once
#include "metalbench/exponentials.h"
#include "metalbench/normal_distribution.h"

namespace metalbench {

// exp(x) - 1 of any sign. Above 20 the one is a rounding error of exp(x) or less.
struct ExpMinusOne {
  template <typename T>
  T operator()(T x) const {
    return select(exp_minus_one_until(x, 20.0f), precise::exp(x), x > T(20.0f));
  }
};

// log(1 + x): the logarithm of the rounded sum, times what the rounding has changed x by (Kahan).
struct LogOnePlus {
  template <typename T>
  T operator()(T x) const {
    const T u = 1.0f + x;
    const T y = precise::log(u) * (x / (u - 1.0f));
    return select(select(y, x, u == T(1.0f)), u, u == T(INFINITY));
  }
};

// 2 P(t) - 1 with t = x sqrt(2), where P is the normal distribution function.
struct Erf {
  template <typename T>
  T operator()(T x) const {
    const T t = x * 1.41421356f;
    const T size = abs(t);
    const T tail = normal_tail(limited(size, 0.0f, 13.0f));
    const T outside = copysign(1.0f - 2.0f * tail, x);
    return select(outside, 2.0f * t * normal_slope(t * t), size < T(1.0f));
  }
};

// Polynomials in log(1 - x^2) of M. Giles, "Approximating the erfinv function" (2010), for single
// precision.
struct ErfInverse {
  template <typename T>
  T operator()(T x) const {
    const T w = -precise::log((1.0f - x) * (1.0f + x));
    const T a = w - 2.5f;
    T p = fma(a, T(2.81022636e-08f), T(3.43273939e-07f));
    p = fma(p, a, T(-3.5233877e-06f));
    p = fma(p, a, T(-4.39150654e-06f));
    p = fma(p, a, T(0.00021858087f));
    p = fma(p, a, T(-0.00125372503f));
    p = fma(p, a, T(-0.00417768164f));
    p = fma(p, a, T(0.246640727f));
    p = fma(p, a, T(1.50140941f));
    const T b = precise::sqrt(w) - 3.0f;
    T q = fma(b, T(-0.000200214257f), T(0.000100950558f));
    q = fma(q, b, T(0.00134934322f));
    q = fma(q, b, T(-0.00367342844f));
    q = fma(q, b, T(0.00573950773f));
    q = fma(q, b, T(-0.0076224613f));
    q = fma(q, b, T(0.00943887047f));
    q = fma(q, b, T(1.00167406f));
    q = fma(q, b, T(2.83297682f));
    return select(select(q, p, w < T(5.0f)) * x, copysign(T(INFINITY), x), abs(x) == T(1.0f));
  }
};

#define METALBENCH_OF_LIBRARY(NAME, EXPRESSION) \
  struct NAME {                                 \
    template <typename T>                       \
    T operator()(T x) const {                   \
      return EXPRESSION;                        \
    }                                           \
  };

METALBENCH_OF_LIBRARY(SquareRoot, precise::sqrt(x))
METALBENCH_OF_LIBRARY(Square, x* x)
METALBENCH_OF_LIBRARY(Reciprocal, 1.0f / x)
METALBENCH_OF_LIBRARY(Sine, precise::sin(x))
METALBENCH_OF_LIBRARY(Cosine, precise::cos(x))
METALBENCH_OF_LIBRARY(ArcTangent, precise::atan(x))
METALBENCH_OF_LIBRARY(LogTwo, precise::log2(x))
// Halves go to the even neighbour.
METALBENCH_OF_LIBRARY(Rounded, rint(x))
METALBENCH_OF_LIBRARY(Floored, floor(x))
METALBENCH_OF_LIBRARY(Sign, select(select(x, T(1.0f), x > T(0.0f)), T(-1.0f), x < T(0.0f)))

#undef METALBENCH_OF_LIBRARY

// sinh of small x is half of expm1(x) + expm1(x) / (1 + expm1(x)), where nothing cancels.
struct HyperbolicSine {
  template <typename T>
  T operator()(T x) const {
    const T e = ExpMinusOne()(limited(abs(x), 0.0f, 88.0f));
    const T large = 0.5f * precise::exp(0.5f * abs(x)) * precise::exp(0.5f * abs(x));
    return copysign(select(0.5f * (e + e / (1.0f + e)), large, abs(x) > T(20.0f)), x);
  }
};

// log(|x| + sqrt(x^2 + 1)) as log1p of what is left where x is small; beyond 2^14 it is log(2 |x|).
struct ArcHyperbolicSine {
  template <typename T>
  T operator()(T x) const {
    const T a = abs(x);
    const T square = a * a;
    const T near = LogOnePlus()(a + square / (1.0f + precise::sqrt(1.0f + square)));
    return copysign(select(near, precise::log(a) + 0.693147181f, a > T(16384.0f)), x);
  }
};

// log1p(2 |x| / (1 - |x|)) / 2
struct ArcHyperbolicTangent {
  template <typename T>
  T operator()(T x) const {
    const T a = abs(x);
    return copysign(0.5f * LogOnePlus()(2.0f * a / (1.0f - a)), x);
  }
};

}  // namespace metalbench
