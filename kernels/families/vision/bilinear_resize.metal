// Images at another size, channels last: a thread makes four channels of a pixel from four pixels.
// Where they lie follows from whole numbers, so that no rounding decides which pixels they are; the
// four are in the cache for the neighbours, and memory is read and written once.
// dispatch: bilinear_resize  threads_in_grid=(ceil_div(channels, 4), 3 * width / 2 + 1, batch * (3 * height / 2))  threads=(TG, 128 / TG, 1)
// tune: TG = 8, 4, 16, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

struct Between {
  uint first;
  uint second;
  float fraction;

  // Output `at` of `wanted`, for `count` pixels.
  static Between of(uint at, uint count, uint wanted) {
    const uint centre = (2 * at + 1) * count;
    const uint twice = centre > wanted ? centre - wanted : 0;
    const uint first = min(twice / (2 * wanted), count - 1);
    const float fraction = float(twice - first * 2 * wanted) / float(2 * wanted);
    return {first, min(first + 1, count - 1), fraction};
  }
};

[[kernel]] void bilinear_resize(device const DTYPE* x, device DTYPE* y, constant uint& height,
                                constant uint& width, constant uint& channels,
                                uint3 at [[thread_position_in_grid]]) {
  const uint high = 3 * height / 2, wide = 3 * width / 2 + 1;
  const Between down = Between::of(at.z % high, height, high);
  const Between across = Between::of(at.y, width, wide);
  device const DTYPE* image = x + ulong(at.z / high) * height * width * channels;
  float4 found[2];
  UNROLLED
  for (uint i = 0; i < 2; ++i) {
    const ulong row = ulong(i ? down.second : down.first) * width;
    const float4 left = load_quad(image + (row + across.first) * channels, 4 * at.x, channels);
    const float4 right = load_quad(image + (row + across.second) * channels, 4 * at.x, channels);
    found[i] = left * (1.0f - across.fraction) + right * across.fraction;
  }
  const float4 v = found[0] * (1.0f - down.fraction) + found[1] * down.fraction;
  store_quad(y + (ulong(at.z) * wide + at.y) * channels, 4 * at.x, channels, v);
}
