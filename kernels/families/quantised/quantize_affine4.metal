// Plain rows as codes of 4 or 8 bits with a scale and a bias for each group of 64, as MLX chooses
// them (metalbench/quantise.h). Sixteen lanes share a group: each has four elements, whose least
// and greatest join through shuffles, and makes a word of codes or the half of one that its
// neighbour has the rest of. A row is read once and never waits for more than its own SIMD-group.
// dispatch: quantize  threads_in_grid=(ceil_div(rows * cols, 128) * 32)  threads=(TG)
// instance: q4_g64 BITS = 4, GROUP = 64
// instance: q8_g64 BITS = 8, GROUP = 64
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % GROUP == 0, rows * cols <= 4294967292
#include "metalbench/quantise.h"
using namespace metalbench;

[[kernel]] void quantize(device const DTYPE* x, device uint* y, device DTYPE* y_scales,
                         device DTYPE* y_biases, constant uint& rows, constant uint& cols,
                         uint thread_index [[thread_position_in_grid]]) {
  // Lanes past the end repeat the last quad, as others' shuffles want a whole SIMD-group.
  const uint quads = rows * cols / 4;
  const uint quad = min(thread_index, quads - 1);
  const float4 v = quad_at(x, quad);
  const Scaling by = scaling_of_group<GROUP, BITS>(v);
  const uint bits = codes_of<BITS>(v, by);
  const uint other = simd_shuffle_xor(bits, ushort(1));
  if (thread_index < quads) {
    if (BITS == 8) {
      y[quad] = bits;
    } else if (quad % 2 == 0) {
      y[quad / 2] = bits | other << 16;
    }
    if (quad % (GROUP / 4) == 0) {
      y_scales[quad / (GROUP / 4)] = DTYPE(by.scale);
      y_biases[quad / (GROUP / 4)] = DTYPE(by.bias);
    }
  }
}
