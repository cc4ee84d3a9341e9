// Rotary embedding: columns (2i, 2i+1) of row p are turned by the angle p base^(-2i/dims).
// A thread turns one pair in ROWS rows, so the frequency is computed once for all of them. It is
// computed to about one rounding, because a row number in the thousands multiplies its error; and
// the rounding of its product with p is added back through the derivatives of sine and cosine.
// dispatch: rope_embedding  threads_in_grid=(dims / 2, ceil_div(positions, ROWS))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// tune: ROWS = 4, 1, 8, 16
#include <metal_stdlib>
using namespace metal;

// base^(-2 pair / dims) = 2^(-(whole + part)), with base = mantissa * 2^exponent. `whole` is found
// in integers, so that `part` is small and its rounding too.
static float frequency(uint pair, uint dims, float base) {
  const uint exponent = (as_type<uint>(base) >> 23) - 127;
  const float mantissa = as_type<float>((as_type<uint>(base) & 0x007fffffu) | 0x3f800000u);
  const uint whole = 2 * pair * exponent / dims;
  const uint left = 2 * pair * exponent % dims;
  const float part = fma(float(2 * pair), precise::log2(mantissa), float(left)) / float(dims);
  return precise::exp2(-part) * as_type<float>((127 - whole) << 23);
}

[[kernel]] void rope_embedding(device const float* x, device float* y, constant uint& positions,
                               constant uint& dims, constant float& base,
                               uint2 where [[thread_position_in_grid]]) {
  const float turn = frequency(where.x, dims, base);
  const uint first = where.y * ROWS;
  for (uint p = first; p < min(first + ROWS, positions); ++p) {
    const float angle = float(p) * turn;
    const float error = fma(float(p), turn, -angle);
    const float s = precise::sin(angle);
    const float c = precise::cos(angle);
    const float sine = fma(error, c, s);
    const float cosine = fma(-error, s, c);
    const ulong at = ulong(p) * dims + 2 * where.x;
    const float2 v = *(device const float2*)(x + at);
    *(device float2*)(y + at) = float2(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
  }
}
