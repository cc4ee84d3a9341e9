// Plain rows as floats of eight bits (E4M3) or four (E2M1) with a scale for each group: a power of
// two of 32, or a float of eight bits of 16 (metalbench/quantise_floats.h). A lane makes one word
// of codes; lanes that share a group join their largest through shuffles. A row is read once and
// never waits for more than its own SIMD-group.
// dispatch: quantize  threads_in_grid=(ceil_div(rows * cols * BITS, 1024) * 32)  threads=(TG)
// instance: mxfp8 MODE = 0, BITS = 8
// instance: mxfp4 MODE = 1, BITS = 4
// instance: nvfp4 MODE = 2, BITS = 4
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
// limits: cols % 32 == 0, rows * cols <= 4294967292
#include "metalbench/quantise_floats.h"
using namespace metal;
using namespace metalbench;

template <uint Number>
struct Chosen;
template <>
struct Chosen<0> : ToMxFp8 {};
template <>
struct Chosen<1> : ToMxFp4 {};
template <>
struct Chosen<2> : ToNvFp4 {};

[[kernel]] void quantize(device const DTYPE* x, device uint* y, device uchar* y_scales,
                         constant uint& rows, constant uint& cols,
                         uint thread_index [[thread_position_in_grid]]) {
  using Mode = Chosen<MODE>;
  constexpr uint quads = 8 / BITS, lanes = Mode::kGroup * BITS / 32;
  // Lanes past the end repeat the last word, as others' shuffles want a whole SIMD-group.
  const uint words = rows * cols / 32 * BITS;
  const uint word = min(thread_index, words - 1);
  float4 v[quads];
  float4 sizes = 0.0f;
  UNROLLED
  for (uint i = 0; i < quads; ++i) {
    v[i] = quad_at(x, quads * word + i);
    sizes = max(sizes, abs(v[i]));
  }
  const uint scale = Mode::scale_of(most_of_lanes<lanes>(largest(sizes)));
  uint bits = 0;
  UNROLLED
  for (uint i = 0; i < quads; ++i) {
    bits |= codes_of<Mode>(Mode::scaled(v[i], scale)) << (16 * i);
  }
  if (thread_index < words) {
    y[word] = bits;
    if (word % lanes == 0) {
      y_scales[word / lanes] = uchar(scale);
    }
  }
}
