// Rotary position embedding: columns 2i and 2i + 1 of a head are a point that is turned by position
// * base^(-2i / dims). As a map (epilogues.h) of the product that queries and keys come from, so
// that it takes no separate pass.
#pragma once
#include <metal_stdlib>

#include "metalbench/divisor.h"
#include "metalbench/quads.h"

namespace metalbench {

using namespace metal;

inline uint rope_exponent(float base) { return (as_type<uint>(base) >> 23) - 127; }

// base^(-column / dims) to about one rounding, because a position multiplies its error. It is
// 2^(-(whole + part)) with base = mantissa * 2^exponent; `whole`, the quotient of column * exponent
// by dims, is found in integers, so that `part` is small and its rounding too.
inline float rope_power(uint column, uint whole, uint dims, float base) {
  const float mantissa = as_type<float>((as_type<uint>(base) & 0x007fffffu) | 0x3f800000u);
  const uint left = column * rope_exponent(base) - whole * dims;
  const float part = fma(float(column), precise::log2(mantissa), float(left)) / float(dims);
  return precise::exp2(-part) * as_type<float>((127 - whole) << 23);
}

inline float rope_frequency(uint column, uint dims, float base) {
  return rope_power(column, column * rope_exponent(base) / dims, dims, base);
}

// For loops: without a division.
inline float rope_frequency(uint column, Divisor dims, float base) {
  return rope_power(column, dims.quotient(column * rope_exponent(base)), dims.value, base);
}

// Cosine and sine of that position's angle, with what the angle lost to rounding added back through
// the derivatives.
inline float2 rope_direction(uint position, float frequency) {
  const float angle = float(position) * frequency;
  const float error = fma(float(position), frequency, -angle);
  const float s = precise::sin(angle);
  const float c = precise::cos(angle);
  return float2(fma(-error, s, c), fma(error, c, s));
}

inline float2 rope_turned(float2 point, uint position, float frequency) {
  const float2 to = rope_direction(position, frequency);
  return float2(point.x * to.x - point.y * to.y, point.x * to.y + point.y * to.x);
}

// Points whose coordinates are half a head apart, four at a time, of some heads in a row: they have
// their directions in common, which take longer than to turn them.
template <typename T>
inline void rope_halves(device const T* x, device T* y, uint heads, ulong pitch, uint column,
                        uint points, uint position, float base) {
  const Divisor dims = Divisor::of(2 * points);
  float4 cosine, sine;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const float frequency = rope_frequency(2 * (column + i), dims, base);
    const float2 to = rope_direction(position, frequency);
    cosine[i] = to.x;
    sine[i] = to.y;
  }
  for (uint head = 0; head < heads; ++head, x += pitch, y += pitch) {
    const float4 first = load_quad(x, column, points);
    const float4 second = load_quad(x + points, column, points);
    store_quad(y, column, points, first * cosine - second * sine);
    store_quad(y + points, column, points, first * sine + second * cosine);
  }
}

// Turns the columns before `end`, heads of `dims` columns each (an even number); the others stay.
// The row is the position.
struct Roped {
  uint end;
  Divisor dims;
  float base;

  Roped(uint end, uint dims, float base) : end(end), dims(Divisor::of(dims)), base(base) {}

  float2 turned(float2 point, uint position, uint column) const {
    const uint within = column - dims.quotient(column) * dims.value;
    return column < end ? rope_turned(point, position, rope_frequency(within, dims, base)) : point;
  }

  float4 operator()(float4 v, uint row, uint column) const {
    return float4(turned(v.xy, row, column), turned(v.zw, row, column + 2));
  }
};

}  // namespace metalbench
