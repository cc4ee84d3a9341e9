// Common interface of scalars and clang vectors, so that a vec is computed in one register.
#pragma once

#include "lift.h"

namespace mb {

template <class E, int N>
using ext = E __attribute__((ext_vector_type(N)));

// Types related to a float or a vector of floats; D is double or a vector of it.
template <class F>
struct lane_types {
  static constexpr int count = sizeof(F) / sizeof(float);
  using scalar = float;
  using ints = ext<int, count>;
  using doubles = ext<double, count>;
  using longs = ext<long, count>;
};
template <>
struct lane_types<float> {
  using scalar = float;
  using ints = int;
  using doubles = double;
  using longs = long;
};
template <>
struct lane_types<double> {
  using scalar = double;
};
template <class E, int N>
struct doubles_types {
  using scalar = double;
};
template <>
struct lane_types<ext<double, 2>> : doubles_types<double, 2> {};
template <>
struct lane_types<ext<double, 4>> : doubles_types<double, 4> {};

template <class F>
using scalar_of = typename lane_types<F>::scalar;
template <class F>
using ints_of = typename lane_types<F>::ints;
template <class F>
using doubles_of = typename lane_types<F>::doubles;
template <class F>
using longs_of = typename lane_types<F>::longs;

// static_cast of each lane.
template <class To, class From>
MB_FUNC To lanes_cast(From v) {
  if constexpr (__is_arithmetic(From)) return static_cast<To>(v);
  else return __builtin_convertvector(v, To);
}
template <class F>
MB_FUNC auto bits(F x) {
  return as_type<ints_of<F>>(x);
}
MB_FUNC float floats_from(int v) { return float(v); }
template <int N>
MB_FUNC ext<float, N> floats_from(ext<int, N> v) {
  return __builtin_convertvector(v, ext<float, N>);
}

#if MB_FUSES
template <class F>
MB_FUNC F fused(F a, same<F> b, same<F> c) {
  return __builtin_elementwise_fma(a, b, c);
}
#else
template <class F>
MB_FUNC F fused(F a, same<F> b, same<F> c) {
  if constexpr (__is_same(scalar_of<F>, double)) return a * b + c;
  else
    return lanes_cast<F>(lanes_cast<doubles_of<F>>(a) * lanes_cast<doubles_of<F>>(b) +
                         lanes_cast<doubles_of<F>>(c));
}
#endif

// Apply F::of to the lanes of a float, half, bfloat or of a vec of these.
template <class F, class R>
MB_FUNC R by_lanes(R v) {
  using E = element<R>;
  if constexpr (element_of<R>::count == 1) {
    return static_cast<R>(F::of(static_cast<float>(v)));
  } else if constexpr (element_of<R>::count == 2) {
    ext<float, 2> r = F::of(ext<float, 2>{float(v.x), float(v.y)});
    return R(E(r.x), E(r.y));
  } else if constexpr (element_of<R>::count == 3) {
    ext<float, 4> r = F::of(ext<float, 4>{float(v.x), float(v.y), float(v.z), 1.0f});
    return R(E(r.x), E(r.y), E(r.z));
  } else {
    ext<float, 4> r = F::of(ext<float, 4>{float(v.x), float(v.y), float(v.z), float(v.w)});
    return R(E(r.x), E(r.y), E(r.z), E(r.w));
  }
}

}  // namespace mb

// Define a function of metal by a function of lanes of floats, x.
#define MB_LANES1(name, ...)                                   \
  struct mb_lanes_##name {                                     \
    template <class F>                                         \
    MB_FUNC static F of(F x) {                                 \
      return __VA_ARGS__;                                      \
    }                                                          \
  };                                                           \
  template <class A, class R = mb::floating<A>, class... None> \
  MB_UNAMBIGUOUS(name, mb::mixed_floats<A>)                    \
  MB_FUNC R name(A a, MB_LESS_SPECIAL) {                       \
    return mb::by_lanes<mb_lanes_##name>(mb::lift<R>(a));      \
  }
