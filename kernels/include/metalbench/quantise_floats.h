// Plain rows as floats of four or eight bits with a scale of eight bits for each group. A lane has
// neighbouring elements; those of a group lie side by side in a SIMD-group, all of whose lanes take
// part. Codes are the nearest, of two as near the one whose last bit is 0, and zero has a sign,
// as the OCP Microscaling Formats specification 1.0 has it (roundTiesToEven).
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// The code of what is not negative nor beyond the largest: `Mantissa` bits below its exponent, or
// below `Least`, where codes are multiples of one number. Added to the power of two whose last bit
// is the code's, a float is rounded there, to even where it lies in the middle.
template <uint Mantissa, uint Least>
inline uint code_of_size(float size) {
  const uint exponent = max(as_type<uint>(size) >> 23, Least);
  const float unit = as_type<float>((exponent + 23 - Mantissa) << 23);
  const uint steps = as_type<uint>(size + unit) & 0x7FFFFF;
  return steps + ((exponent - Least) << Mantissa);
}

// E4M3, whose least normal number is 2^-6. What is larger than 448 becomes that.
inline uint e4m3_of(float v) {
  return as_type<uint>(v) >> 31 << 7 | code_of_size<3, 127 - 6>(min(abs(v), 448.0f));
}

// E2M1, the same with 1 and 6.
inline uint e2m1_of(float v) {
  return as_type<uint>(v) >> 31 << 3 | code_of_size<1, 127>(min(abs(v), 6.0f));
}

// The power of two, and 127, that `Mantissa` / 2^23 times 2^`Exponent`, the largest code, times it
// is no less than `most`: found by exponent and mantissa, so that no logarithm rounds.
template <uint Exponent, uint Mantissa>
inline uint power_above(float most) {
  const uint bits = as_type<uint>(most);
  const uint power = (bits >> 23) + uint((bits & 0x7FFFFF) > Mantissa);
  return most == 0.0f ? 127 : max(power, Exponent) - Exponent;
}

// The largest magnitude of what Lanes neighbouring lanes have.
template <uint Lanes>
inline float most_of_lanes(float most) {
  UNROLLED
  for (uint lanes = 1; lanes < Lanes; lanes *= 2) {
    most = max(most, simd_shuffle_xor(most, ushort(lanes)));
  }
  return most;
}

// What a mode makes of plain rows: the scale of a group, what elements become by it, and codes.
// Those of the specification, whose scales are powers of two: of `Bits` bits, the largest code with
// an exponent of `Exponent` and `Mantissa` for its fraction.
template <uint Bits, uint Exponent, uint Mantissa>
struct ToMxFp {
  static constant constexpr uint kBits = Bits;
  static constant constexpr uint kGroup = 32;
  static uint scale_of(float most) { return power_above<Exponent, Mantissa>(most); }
  // Exact, as it is by a power of two.
  static float4 scaled(float4 v, uint scale) { return v * as_type<float>((254 - scale) << 23); }
  static uint code_of(float v) { return Bits == 8 ? e4m3_of(v) : e2m1_of(v); }
};

using ToMxFp8 = ToMxFp<8, 8, 0x600000>;
using ToMxFp4 = ToMxFp<4, 2, 0x400000>;

// Of a scale that is zero all codes are.
struct ToNvFp4 {
  static constant constexpr uint kBits = 4;
  static constant constexpr uint kGroup = 16;
  static uint scale_of(float most) { return e4m3_of(most / 6.0f); }
  static float4 scaled(float4 v, uint scale) {
    const float unit = float(as_type<half>(ushort(scale << 7))) * 256.0f;
    return scale == 0 ? float4(0.0f) : v / unit;
  }
  static uint code_of(float v) { return e2m1_of(v); }
};

// Four codes, the first in the lowest bits.
template <typename Mode>
inline uint codes_of(float4 scaled) {
  return Mode::code_of(scaled.x) | Mode::code_of(scaled.y) << Mode::kBits |
         Mode::code_of(scaled.z) << (2 * Mode::kBits) |
         Mode::code_of(scaled.w) << (3 * Mode::kBits);
}

}  // namespace metalbench
