// Plain rows as floats of eight bits (E4M3) with a power of two for each group of 32: the least one
// that leaves none above 448, found by exponent and mantissa of the largest, so that no logarithm
// rounds. Eight lanes share a group, whose largest joins through shuffles; each makes a word of
// four codes, the nearest and of two the even one. Scaling by a power of two is exact.
// dispatch: quantize  threads_in_grid=(ceil_div(rows * cols, 128) * 32)  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

// The power's exponent and 127: 448 is 1.75 times 2^8.
static uint power_for(float most) {
  const uint bits = as_type<uint>(most);
  const uint power = (bits >> 23) + uint((bits & 0x7FFFFF) > 0x600000);
  return most == 0.0f ? 127 : max(power, 8u) - 8;
}

// Below 2^-6 codes are multiples of 2^-9; above, the exponent is less by 120 and the mantissa's
// other 20 bits are rounded away.
static uint e4m3(float v) {
  const uint bits = as_type<uint>(v);
  const uint size = bits & 0x7FFFFFFF;
  const uint rounded = (size + 0x7FFFF + (size >> 20 & 1)) >> 20;
  const uint code = abs(v) < 0x1p-6f ? uint(rint(abs(v) * 512.0f)) : rounded - (120 << 3);
  return code | bits >> 31 << 7;
}

[[kernel]] void quantize(device const DTYPE* x, device uint* y, device uchar* y_scales,
                         constant uint& rows, constant uint& cols,
                         uint thread_index [[thread_position_in_grid]]) {
  // Lanes past the end repeat the last quad, as others' shuffles want a whole SIMD-group.
  const uint quads = rows * cols / 4;
  const uint quad = min(thread_index, quads - 1);
  const float4 v = quad_at(x, quad);
  float most = largest(abs(v));
  for (uint lanes = 1; lanes < 8; lanes *= 2) {
    most = max(most, simd_shuffle_xor(most, ushort(lanes)));
  }
  const uint power = power_for(most);
  const float4 scaled = v * as_type<float>((254 - power) << 23);
  if (thread_index < quads) {
    y[quad] = e4m3(scaled.x) | e4m3(scaled.y) << 8 | e4m3(scaled.z) << 16 | e4m3(scaled.w) << 24;
    if (quad % 8 == 0) {
      y_scales[quad / 8] = uchar(power);
    }
  }
}
