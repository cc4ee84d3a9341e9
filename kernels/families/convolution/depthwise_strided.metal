// Depthwise convolution at every second pixel: bandwidth bounds it. A thread walks down ROWS
// outputs of four channels with their nine filters in registers; a line of taps that two outputs
// share, the last of one and the first of the next, is read again, from the cache.
// dispatch: depthwise_strided  threads_in_grid=(ceil_div(channels, 4) * ceil_div(width, 2), ceil_div(ceil_div(height, 2), ROWS), batch)  threads=(TG)
// tune: ROWS = 4, 1, 8
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void depthwise_strided(device const DTYPE* x, device const DTYPE* w, device DTYPE* y,
                                  constant uint& height, constant uint& width,
                                  constant uint& channels, uint3 at [[thread_position_in_grid]]) {
  const uint quads = (channels + 3) / 4, wide = (width + 1) / 2, high = (height + 1) / 2;
  const uint channel = 4 * (at.x % quads), column = at.x / quads;
  float4 filter[9];
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    const uint own = min(channel + i, channels - 1);
    UNROLLED
    for (uint tap = 0; tap < 9; ++tap) {
      // check: allow registers the filters of four channels stay in registers, down all outputs
      filter[tap][i] = float(w[own * 9 + tap]);
    }
  }
  device const DTYPE* image = x + ulong(at.z) * height * width * channels;
  device DTYPE* result = y + ulong(at.z) * high * wide * channels;
  for (uint row = at.y * ROWS; row < min(high, (at.y + 1) * ROWS); ++row) {
    float4 sum = 0.0f;
    UNROLLED
    for (uint tap = 0; tap < 9; ++tap) {
      // Before the first pixel is past the last one, too.
      const uint line = 2 * row + tap / 3 - 1, pixel = 2 * column + tap % 3 - 1;
      if (line < height && pixel < width) {
        device const DTYPE* from = image + ulong(line * width + pixel) * channels;
        sum = fma(load_quad(from, channel, channels), filter[tap], sum);
      }
    }
    store_quad(result + ulong(row * wide + column) * channels, channel, channels, sum);
  }
}
