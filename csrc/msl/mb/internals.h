// Internal functions of Apple's library that some kernel libraries call directly. The names of math
// functions end in a flag for fast math.
#pragma once

#include "geometric.h"
#include "integer.h"
#include "logging.h"
#include "simd_functions.h"
#include "traits.h"

#ifndef __METAL_MAYBE_FAST_MATH__
#define __METAL_MAYBE_FAST_MATH__ MB_FAST_MATH
#endif

#define MB_INTERNAL1(name)                 \
  template <class A>                       \
  MB_FUNC auto __metal_##name(A a, bool) { \
    return metal::name(a);                 \
  }
#define MB_INTERNAL2(name)                      \
  template <class A, class B>                   \
  MB_FUNC auto __metal_##name(A a, B b, bool) { \
    return metal::name(a, b);                   \
  }
#define MB_INTERNAL3(name)                           \
  template <class A, class B, class C>               \
  MB_FUNC auto __metal_##name(A a, B b, C c, bool) { \
    return metal::name(a, b, c);                     \
  }
// clang-format off
MB_INTERNAL1(acos) MB_INTERNAL1(acosh) MB_INTERNAL1(asin) MB_INTERNAL1(asinh) MB_INTERNAL1(atan)
MB_INTERNAL1(atanh) MB_INTERNAL1(ceil) MB_INTERNAL1(cos) MB_INTERNAL1(cosh) MB_INTERNAL1(cospi)
MB_INTERNAL1(exp) MB_INTERNAL1(exp10) MB_INTERNAL1(exp2) MB_INTERNAL1(fabs) MB_INTERNAL1(floor)
MB_INTERNAL1(fract) MB_INTERNAL1(log) MB_INTERNAL1(log10) MB_INTERNAL1(log2) MB_INTERNAL1(rint)
MB_INTERNAL1(round) MB_INTERNAL1(rsqrt) MB_INTERNAL1(sin) MB_INTERNAL1(sinh) MB_INTERNAL1(sinpi)
MB_INTERNAL1(sqrt) MB_INTERNAL1(tan) MB_INTERNAL1(tanh) MB_INTERNAL1(tanpi) MB_INTERNAL1(trunc)
MB_INTERNAL2(atan2) MB_INTERNAL2(fdim) MB_INTERNAL2(fmax) MB_INTERNAL2(fmin) MB_INTERNAL2(fmod)
MB_INTERNAL2(ldexp) MB_INTERNAL2(pow) MB_INTERNAL2(powr)
MB_INTERNAL3(fmax3) MB_INTERNAL3(fmedian3) MB_INTERNAL3(fmin3)
// clang-format on
#undef MB_INTERNAL1
#undef MB_INTERNAL2
#undef MB_INTERNAL3

template <class A>
MB_FUNC int __metal_ilogb(A a) {
  return metal::ilogb(a);
}
template <class A, class B>
MB_FUNC auto __metal_divide(A a, B b, bool) {
  return metal::divide(a, b);
}
template <class A, class B>
MB_FUNC auto __metal_nextafter(A a, B b) {
  return metal::nextafter(a, b);
}
template <class A, class B, class C>
MB_FUNC auto __metal_fma(A a, B b, C c) {
  return metal::fma(a, b, c);
}

#define MB_INTERNAL_SIMD(name)          \
  template <class... A>                 \
  MB_FUNC auto __metal_##name(A... a) { \
    return metal::name(a...);           \
  }
// clang-format off
MB_INTERNAL_SIMD(simd_sum) MB_INTERNAL_SIMD(simd_product) MB_INTERNAL_SIMD(simd_min)
MB_INTERNAL_SIMD(simd_max) MB_INTERNAL_SIMD(simd_broadcast)
MB_INTERNAL_SIMD(simd_broadcast_first) MB_INTERNAL_SIMD(simd_shuffle)
MB_INTERNAL_SIMD(simd_shuffle_up) MB_INTERNAL_SIMD(simd_shuffle_down)
MB_INTERNAL_SIMD(simd_shuffle_xor) MB_INTERNAL_SIMD(simd_shuffle_rotate_up)
MB_INTERNAL_SIMD(simd_shuffle_rotate_down) MB_INTERNAL_SIMD(simd_shuffle_and_fill_up)
MB_INTERNAL_SIMD(simd_shuffle_and_fill_down) MB_INTERNAL_SIMD(simd_prefix_inclusive_sum)
MB_INTERNAL_SIMD(simd_prefix_exclusive_sum) MB_INTERNAL_SIMD(simd_prefix_inclusive_product)
MB_INTERNAL_SIMD(simd_prefix_exclusive_product)
// clang-format on
#undef MB_INTERNAL_SIMD

// Floating-point operands convert: only the integer forms exist.
template <class A>
MB_FUNC auto __metal_simd_xor(A a) {
  if constexpr (mb::is_float<A>) return metal::simd_xor(int(a));
  else return metal::simd_xor(a);
}
template <class A, class N>
MB_FUNC auto __metal_frexp(A a, N* exponent) {
  return metal::frexp(a, *exponent);
}
MB_FUNC ushort __metal_get_simdgroup_size(ushort) { return mb::simd_width; }
MB_FUNC ushort __metal_get_thread_index_in_simdgroup(ushort) { return ushort(mb::lane()); }

namespace metal {

template <class T>
using remove_addrspace_t = mb::unspaced<remove_cv_t<T>>;
template <class T>
struct remove_addrspace {
  using type = remove_addrspace_t<T>;
};

// A value that is uniform in a SIMD-group: an optimisation hint for Apple's compiler.
template <class T>
struct uniform {
  T mb_value;
  uniform() = default;
  constexpr uniform(T value) : mb_value(value) {}
  constexpr operator T() const { return mb_value; }
};
template <class T>
MB_FUNC constexpr uniform<T> make_uniform(T value) {
  return uniform<T>(value);
}

}  // namespace metal

// Functions of both namespaces are members of both: a using-directive alone is hidden by overloads
// that kernel libraries declare there for their own types.
#define MB_BOTH(name) \
  namespace fast {    \
  using metal::name;  \
  }                   \
  namespace precise { \
  using metal::name;  \
  }
namespace metal {
// clang-format off
MB_BOTH(abs) MB_BOTH(acos) MB_BOTH(acosh) MB_BOTH(asin) MB_BOTH(asinh) MB_BOTH(atan)
MB_BOTH(atan2) MB_BOTH(atanh) MB_BOTH(ceil) MB_BOTH(clamp) MB_BOTH(copysign) MB_BOTH(cosh)
MB_BOTH(cospi) MB_BOTH(divide) MB_BOTH(exp) MB_BOTH(exp10) MB_BOTH(fabs)
MB_BOTH(fdim) MB_BOTH(floor) MB_BOTH(fma) MB_BOTH(fmax) MB_BOTH(fmax3) MB_BOTH(fmedian3)
MB_BOTH(fmin) MB_BOTH(fmin3) MB_BOTH(fract) MB_BOTH(frexp) MB_BOTH(ilogb) MB_BOTH(ldexp)
MB_BOTH(log) MB_BOTH(log10) MB_BOTH(log2) MB_BOTH(max) MB_BOTH(max3) MB_BOTH(median3)
MB_BOTH(min) MB_BOTH(min3) MB_BOTH(mix) MB_BOTH(modf) MB_BOTH(nextafter) MB_BOTH(pow)
MB_BOTH(powr) MB_BOTH(rint) MB_BOTH(round) MB_BOTH(saturate) MB_BOTH(sign) MB_BOTH(sinh)
MB_BOTH(sinpi) MB_BOTH(smoothstep) MB_BOTH(sqrt) MB_BOTH(step) MB_BOTH(tanh) MB_BOTH(tanpi)
MB_BOTH(trunc)
// clang-format on
}  // namespace metal
#undef MB_BOTH
