// numeric_limits and the floating-point macros.
#pragma once

#include "vec.h"

namespace metal {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero,
  round_to_nearest,
  round_toward_infinity,
  round_toward_neg_infinity,
};
enum float_denorm_style { denorm_indeterminate = -1, denorm_absent, denorm_present };

// Members common to all floating-point types; sources also derive the limits of their own types
// from it.
struct _fp_numeric_limits_impl_base {
  static constexpr bool is_specialized = true, is_signed = true;
  static constexpr bool is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
  static constexpr bool is_iec559 = true, is_bounded = true, is_modulo = false, traps = false;
  static constexpr bool has_denorm_loss = false, tinyness_before = false;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr float_denorm_style has_denorm = denorm_present;
};

}  // namespace metal

namespace mb {
namespace types {

// Differences between floating-point types: digits, exponents and bit patterns of the limits.
template <class T, class I, int digits_, int digits10_, int min_exponent_, int max_exponent_>
struct float_limits : metal::_fp_numeric_limits_impl_base {
  static constexpr int digits = digits_, digits10 = digits10_, radix = 2;
  static constexpr int max_digits10 = digits_ * 3 / 10 + 2;
  static constexpr int min_exponent = min_exponent_, max_exponent = max_exponent_;
  static constexpr int min_exponent10 = (min_exponent_ - 1) * 301 / 1000;
  static constexpr int max_exponent10 = max_exponent_ * 3 / 10;

  static constexpr I hidden = I(I(1) << (digits_ - 1));
  static constexpr I top = I(I(~I(0)) >> 1);
  static constexpr I exponent_bits = I(top & ~(hidden - 1));

  static constexpr T infinity() { return as_type<T>(exponent_bits); }
  static constexpr T max() { return as_type<T>(I(exponent_bits - 1)); }
  static constexpr T lowest() { return -max(); }
  static constexpr T min() { return as_type<T>(hidden); }
  static constexpr T denorm_min() { return as_type<T>(I(1)); }
  static constexpr T quiet_NaN() { return as_type<T>(I(exponent_bits | hidden >> 1)); }
  static constexpr T signaling_NaN() { return as_type<T>(I(exponent_bits | hidden >> 2)); }
  static constexpr T round_error() { return T(0.5f); }
  static constexpr T epsilon() { return as_type<T>(I(as_type<I>(T(1)) - (digits_ - 1) * hidden)); }
};

template <class T>
struct integer_limits {
  static constexpr bool is_specialized = true, is_signed = T(-1) < T(0);
  static constexpr bool is_integer = true, is_exact = true, has_infinity = false;
  static constexpr bool has_quiet_NaN = false, has_signaling_NaN = false, is_iec559 = false;
  static constexpr bool is_bounded = true, is_modulo = !is_signed, traps = false;
  static constexpr int digits = __is_same(T, bool) ? 1 : int(8 * sizeof(T)) - is_signed;
  static constexpr int digits10 = digits * 3 / 10, max_digits10 = 0, radix = 2;
  static constexpr int min_exponent = 0, max_exponent = 0, min_exponent10 = 0, max_exponent10 = 0;
  static constexpr bool has_denorm_loss = false, tinyness_before = false;
  static constexpr metal::float_round_style round_style = metal::round_toward_zero;
  static constexpr metal::float_denorm_style has_denorm = metal::denorm_absent;

  static constexpr T max() { return T(~0ull >> (64 - digits)); }
  static constexpr T min() { return is_signed ? T(-max() - 1) : T(0); }
  static constexpr T lowest() { return min(); }
  static constexpr T epsilon() { return T(0); }
  static constexpr T infinity() { return T(0); }
  static constexpr T quiet_NaN() { return T(0); }
  static constexpr T signaling_NaN() { return T(0); }
  static constexpr T denorm_min() { return T(0); }
  static constexpr T round_error() { return T(0); }
};

// For other types: no information, and every value is T().
template <class T>
struct no_limits {
  static constexpr bool is_specialized = false, is_signed = false;
  static constexpr bool is_integer = false, is_exact = false;
  static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
  static constexpr bool is_iec559 = false, is_bounded = false, is_modulo = false, traps = false;
  static constexpr bool has_denorm_loss = false, tinyness_before = false;
  static constexpr int digits = 0, digits10 = 0, max_digits10 = 0, radix = 0;
  static constexpr int min_exponent = 0, max_exponent = 0, min_exponent10 = 0, max_exponent10 = 0;
  static constexpr metal::float_round_style round_style = metal::round_toward_zero;
  static constexpr metal::float_denorm_style has_denorm = metal::denorm_absent;

  static constexpr T max() { return T(); }
  static constexpr T min() { return T(); }
  static constexpr T lowest() { return T(); }
  static constexpr T epsilon() { return T(); }
  static constexpr T infinity() { return T(); }
  static constexpr T quiet_NaN() { return T(); }
  static constexpr T signaling_NaN() { return T(); }
  static constexpr T denorm_min() { return T(); }
  static constexpr T round_error() { return T(); }
};

template <bool is_integer>
struct limits_of {
  template <class T>
  using type = no_limits<T>;
};
template <>
struct limits_of<true> {
  template <class T>
  using type = integer_limits<T>;
};

}  // namespace types

using namespace types;

}  // namespace mb

namespace metal {

// Sources may specialise it for user-defined types.
template <class T>
struct _numeric_limits_impl : mb::limits_of<__is_integral(T)>::template type<T> {};
template <>
struct _numeric_limits_impl<float> : mb::float_limits<float, uint, 24, 6, -125, 128> {};
template <>
struct _numeric_limits_impl<half> : mb::float_limits<half, ushort, 11, 3, -13, 16> {};
template <>
struct _numeric_limits_impl<bfloat> : mb::float_limits<bfloat, ushort, 8, 2, -125, 128> {};
// For each component: a scalar result becomes a vector where one is expected.
template <class T, int N>
struct _numeric_limits_impl<vec<T, N>> : _numeric_limits_impl<T> {};

template <class T>
struct numeric_limits : _numeric_limits_impl<__remove_cv(T)> {};

}  // namespace metal

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VALF __builtin_inff()
#define MAXFLOAT 3.40282347e+38f
#define MAXHALF half(65504)
#define HUGE_VALH half(__builtin_inff())
#define MAXBFLOAT bfloat(3.38953139e+38f)
#define HUGE_VALBF bfloat(__builtin_inff())
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 3.40282347e+38f
#define FLT_MIN 1.17549435e-38f
#define FLT_EPSILON 1.1920929e-07f
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define FLT_DECIMAL_DIG 9
#define HALF_DECIMAL_DIG 5
#define FP_ILOGB0 (-2147483647 - 1)
#define FP_ILOGBNAN (-2147483647 - 1)
#define HALF_MAX half(65504)
#define HALF_MIN half(6.103515625e-05f)
#define HALF_EPSILON half(9.765625e-04f)
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295u
#define LONG_MAX 9223372036854775807l
#define LONG_MIN (-9223372036854775807l - 1)
#define ULONG_MAX 18446744073709551615ul

#define M_E_F 2.71828183f
#define M_LOG2E_F 1.44269504f
#define M_LOG10E_F 0.434294482f
#define M_LN2_F 0.693147181f
#define M_LN10_F 2.30258509f
#define M_PI_F 3.14159265f
#define M_PI_2_F 1.57079633f
#define M_PI_4_F 0.785398163f
#define M_1_PI_F 0.318309886f
#define M_2_PI_F 0.636619772f
#define M_2_SQRTPI_F 1.12837917f
#define M_SQRT2_F 1.41421356f
#define M_SQRT1_2_F 0.707106781f
#define M_E_H half(M_E_F)
#define M_LOG2E_H half(M_LOG2E_F)
#define M_LOG10E_H half(M_LOG10E_F)
#define M_LN2_H half(M_LN2_F)
#define M_LN10_H half(M_LN10_F)
#define M_PI_H half(M_PI_F)
#define M_PI_2_H half(M_PI_2_F)
#define M_PI_4_H half(M_PI_4_F)
#define M_1_PI_H half(M_1_PI_F)
#define M_2_PI_H half(M_2_PI_F)
#define M_2_SQRTPI_H half(M_2_SQRTPI_F)
#define M_SQRT2_H half(M_SQRT2_F)
#define M_SQRT1_2_H half(M_SQRT1_2_F)
#define M_E_BF bfloat(M_E_F)
#define M_LOG2E_BF bfloat(M_LOG2E_F)
#define M_LOG10E_BF bfloat(M_LOG10E_F)
#define M_LN2_BF bfloat(M_LN2_F)
#define M_LN10_BF bfloat(M_LN10_F)
#define M_PI_BF bfloat(M_PI_F)
#define M_PI_2_BF bfloat(M_PI_2_F)
#define M_PI_4_BF bfloat(M_PI_4_F)
#define M_1_PI_BF bfloat(M_1_PI_F)
#define M_2_PI_BF bfloat(M_2_PI_F)
#define M_2_SQRTPI_BF bfloat(M_2_SQRTPI_F)
#define M_SQRT2_BF bfloat(M_SQRT2_F)
#define M_SQRT1_2_BF bfloat(M_SQRT1_2_F)
