// Depthwise 3 x 3 convolution, channels last: nothing is summed over channels, so there is no
// matrix in it.
// Bandwidth bounds it. A thread has four neighbouring channels of one column and walks down ROWS
// outputs: their nine filters stay in registers, and each row of three pixels that it reads serves
// three outputs, which are kept as running sums. Neighbouring threads have neighbouring channels,
// so all loads are whole cache lines.
// dispatch: depthwise_conv2d  threads_in_grid=(ceil_div(channels, 4) * (width - 2), ceil_div(height - 2, ROWS), batch)  threads=(TG)
// tune: ROWS = 8, 4, 16
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metalbench;

[[kernel]] void depthwise_conv2d(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                                 constant uint& height, constant uint& width,
                                 constant uint& channels, uint3 where [[thread_position_in_grid]]) {
  const uint quads = (channels + 3) / 4;
  const uint channel = 4 * (where.x % quads);
  const uint column = where.x / quads;
  const uint first = where.y * ROWS;
  float4 filter[9];
  for (uint tap = 0; tap < 9; ++tap) {
    for (uint i = 0; i < 4; ++i) {
      filter[tap][i] = channel + i < channels ? float(w[(channel + i) * 9 + tap]) : 0.0f;
    }
  }
  device const DTYPE* from = x + ((ulong(where.z) * height + first) * width + column) * channels;
  device DTYPE* to =
      y + ((ulong(where.z) * (height - 2) + first) * (width - 2) + column) * channels;

  // Of the three outputs that a row of the input is part of: the one whose last row it is, and two
  // to come.
  float4 last = 0.0f;
  float4 middle = 0.0f;
  const uint rows = min(uint(ROWS), height - 2 - first);
  for (uint r = 0; r < rows + 2; ++r) {
    float4 next = 0.0f;
    for (uint i = 0; i < 3; ++i) {
      const float4 v = load_quad(from + (ulong(r) * width + i) * channels, channel, channels);
      last = fma(v, filter[6 + i], last);
      middle = fma(v, filter[3 + i], middle);
      next = fma(v, filter[i], next);
    }
    if (r >= 2) {
      store_quad(to + ulong(r - 2) * (width - 2) * channels, channel, channels, last);
    }
    last = middle;
    middle = next;
  }
}
