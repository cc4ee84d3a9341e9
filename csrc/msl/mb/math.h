// Math functions; half and bfloat are computed in float and rounded once.
#pragma once

#include "common.h"
#include "power.h"
#include "relational.h"
#include "rounding.h"
#include "trigonometric.h"
#if MB_GPU
#include "gpu/exponential.h"
#else
#include "cpu/exponential.h"
#endif

#define MB_MATH1(name, ...) MB_MAP1(name, mb::floating, __VA_ARGS__)
#define MB_MATH2(name, ...) MB_MAP2(name, mb::floating2, __VA_ARGS__)

namespace metal {

MB_LANES1(exp, mb::exp_of(x))
MB_LANES1(exp10, mb::exp10_of(x))
MB_LANES1(log, mb::log_of(x))
MB_LANES1(log2, mb::log2_of(x))
MB_LANES1(log10, mb::log10_of(x))
MB_LANES1(tanh, mb::tanh_of(x))
MB_MATH1(sinh, mb::sinh_of(x))
MB_MATH1(cosh, mb::cosh_of(x))
MB_MATH1(asinh, mb::asinh_of(x))
MB_MATH1(acosh, mb::acosh_of(x))
MB_MATH1(atanh, mb::atanh_of(x))
MB_MATH1(asin, mb::asin_of(x))
MB_MATH1(acos, mb::acos_of(x))
MB_MATH1(atan, mb::atan_of(x))
MB_MATH2(atan2, mb::atan2_of(x, y))
MB_MATH2(pow, mb::pow_of(x, y))
MB_MATH2(powr, mb::powr_of(x, y))
MB_LANES1(sinpi, mb::sin_of(mb::reduce_half_turns(x)))
MB_LANES1(cospi, mb::cos_of(mb::reduce_half_turns(x)))
MB_MATH1(tanpi, mb::tan_of(mb::reduce_half_turns(float(x))))
MB_MATH1(sqrt, __builtin_sqrtf(x))
MB_MATH1(fabs, __builtin_fabsf(x))
MB_MATH1(floor, __builtin_floorf(x))
MB_MATH1(ceil, __builtin_ceilf(x))
MB_MATH1(trunc, __builtin_truncf(x))
MB_MATH1(rint, __builtin_rintf(x))
MB_MATH1(round, mb::round_of(x))
MB_MATH1(fract, mb::fract_of<T>(x))
MB_MATH1(logb, float(mb::ilogb_of(x)))
MB_MATH2(copysign, __builtin_copysignf(x, y))
MB_MATH2(fdim, x != x || y != y ? T(__builtin_nanf("")) : x > y ? T(x - y) : T(0))
MB_MATH2(divide, mb::quotient(x, y))
MB_MAP3(fma, mb::floating3, mb::fma_of<T>(x, y, z))
MB_MATH2(nextafter,
         mb::nextafter_of<T, typename mb::conditional<sizeof(T) == 4, int, short>::type>(x, y))

template <class A, class R = mb::rebind<mb::floating<A>, int>>
MB_FUNC R ilogb(A a) {
  return mb::map(MB_LAMBDA { return mb::ilogb_of(x); }, mb::lift<mb::floating<A>>(a));
}
template <class A, class N, class R = mb::floating<A>>
MB_FUNC R ldexp(A a, N n) {
  return mb::map(
      MB_LAMBDA2 { return static_cast<decltype(x)>(mb::ldexp_of(x, y)); }, mb::lift<R>(a),
      mb::lift<mb::rebind<R, int>>(n));
}
template <class A, class R = mb::floating<A>>
MB_FUNC R modf(A a, R& whole) {
  R x = mb::lift<R>(a);
  whole = trunc(x);
  return copysign(select(x - whole, R(0), isinf(x)), x);
}
template <class A, class R = mb::floating<A>>
MB_FUNC R frexp(A a, mb::rebind<mb::same<R>, int>& exponent) {
  R x = mb::lift<R>(a);
  exponent = mb::map(
      MB_LAMBDA {
        int e;
        mb::frexp_of(x, e);
        return e;
      },
      x);
  return mb::map(
      MB_LAMBDA {
        int e;
        return static_cast<decltype(x)>(mb::frexp_of(x, e));
      },
      x);
}

namespace fast {
MB_LANES1(exp2, mb::exp2_fast(x))
MB_LANES1(sin, mb::sin_of(mb::reduce(x)))
MB_LANES1(cos, mb::cos_of(mb::reduce(x)))
MB_MATH1(tan, mb::tan_of(mb::reduce(float(x))))
MB_MATH2(fmod, mb::fmod_of<T>(x, y))
MB_MATH1(rsqrt, mb::rsqrt_of<T>(x))
template <class A, class R = mb::floating<A>>
MB_FUNC R sincos(A a, mb::same<R>& cosine) {
  cosine = cos(a);
  return sin(a);
}
}  // namespace fast

namespace precise {
MB_LANES1(exp2, mb::exp2_of(x))
MB_MATH1(sin, mb::sin_of(mb::reduce_any(x)))
MB_MATH1(cos, mb::cos_of(mb::reduce_any(x)))
MB_MATH1(tan, mb::tan_of(mb::reduce_any(x)))
MB_MATH2(fmod, mb::fmod_exact(x, y))
MB_MATH1(rsqrt, mb::rsqrt_rounded(x))
template <class A, class R = mb::floating<A>>
MB_FUNC R sincos(A a, mb::same<R>& cosine) {
  cosine = cos(a);
  return sin(a);
}
}  // namespace precise

#if MB_FAST_MATH
#define MB_DEFAULT fast
#else
#define MB_DEFAULT precise
#endif
using MB_DEFAULT::cos;
using MB_DEFAULT::exp2;
using MB_DEFAULT::fmod;
using MB_DEFAULT::rsqrt;
using MB_DEFAULT::sin;
using MB_DEFAULT::sincos;
using MB_DEFAULT::tan;
#undef MB_DEFAULT

}  // namespace metal
