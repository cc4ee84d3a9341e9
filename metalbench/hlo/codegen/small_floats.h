// Floats of eight bits and fewer. A number is stored as its bits in a byte. Arithmetic converts it
// to float, and rounds the result to nearest, ties to even.
#pragma once
#include "stablehlo.h"

namespace shlo {

// What the largest exponent means. `infinite`: infinity and NaNs, as in IEEE 754. `one_nan`:
// numbers, except that all ones are NaN; an overflow is NaN, too. `no_zero_sign`: numbers; the bits
// of -0 are NaN, and an overflow is that. `finite`: numbers; an overflow is the largest one.
enum class SmallFloatKind { infinite, one_nan, no_zero_sign, finite };

template <int Exponent, int Mantissa, int Bias, SmallFloatKind Kind>
struct SmallFloat {
  uchar bits;

  SmallFloat() = default;
  explicit SmallFloat(float x) : bits(encode(x)) {}
  explicit operator float() const { return decode(bits); }
  static SmallFloat of_bits(uint given) {
    SmallFloat found;
    found.bits = uchar(given);
    return found;
  }

  // Selects instead of branches, so that loops over numbers become vectors.
  static uchar encode(float x) {
    const uint sign = (as_type<uint>(x) >> 31) << (Exponent + Mantissa);
    // All exponents of the type are normal ones of float.
    const int exponent = int((as_type<uint>(x) >> 23) & 0xffu) - 127;
    const int least = 1 - Bias;
    const int unit = (exponent < least ? least : exponent) - Mantissa;
    // Beyond the type, also for infinities and NaNs, any number does.
    const bool is_large = exponent > 16;
    const uint steps = uint(rint(is_large ? 0.0f : fabs(x) * power(-unit)));
    // A number without the hidden bit has the exponent 0; a carry increases the exponent.
    const uint code = steps + (uint(unit + Mantissa - least) << Mantissa);
    const bool keeps_sign = Kind != SmallFloatKind::no_zero_sign || code != 0u;
    const uint finite = keeps_sign ? sign | code : 0u;
    const uint found = is_large || code > largest_code() ? overflow_code(sign) : finite;
    return uchar(isnan(x) ? nan_code(sign) : found);
  }
  // No intermediate result is subnormal: Metal may flush such floats to zero.
  static float decode(uchar given) {
    const uint size = uint(given) & ((1u << (Exponent + Mantissa)) - 1u);
    const uint sign = uint(given) >> (Exponent + Mantissa) & 1u;
    const uint normal = (size << (23 - Mantissa)) + (uint(127 - Bias) << 23);
    const float subnormal = float(int(size)) * power(1 - Bias - Mantissa);
    const float finite = size >> Mantissa == 0u ? subnormal : as_type<float>(normal);
    const bool is_infinite = Kind == SmallFloatKind::infinite && size == largest_code() + 1u;
    const uint bits = as_type<uint>(is_infinite ? INFINITY : finite) | sign << 31;
    const bool is_nan = Kind == SmallFloatKind::no_zero_sign ? sign != 0u && size == 0u
                        : Kind == SmallFloatKind::infinite   ? size > largest_code() + 1u
                                                             : size > largest_code();
    return as_type<float>(is_nan ? 0x7fc00000u : bits);
  }

  static float power(int exponent) { return as_type<float>(uint(exponent + 127) << 23); }
  static uint largest_code() {
    const uint ones = (1u << (Exponent + Mantissa)) - 1u;
    if (Kind == SmallFloatKind::infinite) return ones - (1u << Mantissa);
    return Kind == SmallFloatKind::one_nan ? ones - 1u : ones;
  }
  static uint nan_code(uint sign) {
    const uint ones = (1u << (Exponent + Mantissa)) - 1u;
    if (Kind == SmallFloatKind::infinite) return sign | (ones - (1u << (Mantissa - 1)) + 1u);
    // A type without NaN has -0 for it, as XLA does.
    return Kind == SmallFloatKind::one_nan ? sign | ones : 1u << (Exponent + Mantissa);
  }
  static uint overflow_code(uint sign) {
    if (Kind == SmallFloatKind::infinite) return sign | (largest_code() + 1u);
    return Kind == SmallFloatKind::finite ? sign | largest_code() : nan_code(sign);
  }
};

using F4E2M1FN = SmallFloat<2, 1, 1, SmallFloatKind::finite>;
using F8E3M4 = SmallFloat<3, 4, 3, SmallFloatKind::infinite>;
using F8E4M3 = SmallFloat<4, 3, 7, SmallFloatKind::infinite>;
using F8E4M3B11FNUZ = SmallFloat<4, 3, 11, SmallFloatKind::no_zero_sign>;
using F8E4M3FN = SmallFloat<4, 3, 7, SmallFloatKind::one_nan>;
using F8E4M3FNUZ = SmallFloat<4, 3, 8, SmallFloatKind::no_zero_sign>;
using F8E5M2 = SmallFloat<5, 2, 15, SmallFloatKind::infinite>;
using F8E5M2FNUZ = SmallFloat<5, 2, 16, SmallFloatKind::no_zero_sign>;

// A power of two: the exponent of a float without sign or mantissa. A number in the middle of two
// powers becomes the larger one; zero and negative numbers become NaN.
struct F8E8M0FNU {
  uchar bits;

  F8E8M0FNU() = default;
  explicit F8E8M0FNU(float x) : bits(encode(x)) {}
  explicit operator float() const {
    // The smallest power is a subnormal float.
    const uint word = bits == 0 ? 0x400000u : bits == 255 ? 0x7fc00000u : uint(bits) << 23;
    return as_type<float>(word);
  }
  static F8E8M0FNU of_bits(uint given) {
    F8E8M0FNU found;
    found.bits = uchar(given);
    return found;
  }
  static uchar encode(float x) {
    if (!(x > 0.0f && isfinite(x))) return 255;
    const uint word = as_type<uint>(x);
    if (word < 0x800000u) return word <= 0x400000u ? 0 : 1;
    return uchar((word + 0x400000u) >> 23);
  }
};

}  // namespace shlo
