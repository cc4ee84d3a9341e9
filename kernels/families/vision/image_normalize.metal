// Pixels of bytes as floats, centred and scaled by channel. A thread has four neighbouring elements
// of the whole image: it reads four bytes at once and stores a vector, and which channels these are
// is found once and counted on, as there are few of them.
// dispatch: image_normalize  threads_in_grid=(ceil_div(pixels * channels, 4))  threads=(TG)
// tune: TG = 128, 64, 256
// dtypes: float32, float16, bfloat16
// limits: pixels * channels <= 4294967292
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void image_normalize(device const uchar* x, device const DTYPE* mean,
                                device const DTYPE* deviation, device DTYPE* y,
                                constant uint& pixels, constant uint& channels,
                                uint at [[thread_position_in_grid]]) {
  const uint first = 4 * at, count = pixels * channels;
  uint channel = first % channels;
  float4 v = 0.0f;
  UNROLLED
  for (uint i = 0; i < 4; ++i) {
    if (first + i < count) {
      v[i] = (float(x[first + i]) / 255.0f - float(mean[channel])) / float(deviation[channel]);
    }
    channel = channel + 1 == channels ? 0 : channel + 1;
  }
  store_quad(y, first, count, v);
}
