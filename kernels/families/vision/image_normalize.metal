// Pixels of eight bits as floats, each channel with a mean and a deviation of its own. A thread has
// sixteen elements: bytes come in one vector and leave in four. Which channel an element is of
// follows from its number, so that any count of channels will do.
// dispatch: image_normalize  threads_in_grid=(ceil_div(pixels * channels, 16))  threads=(TG)
// tune: TG = 128, 32, 64, 256
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void image_normalize(device const uchar* x, device const DTYPE* mean,
                                device const DTYPE* deviation, device DTYPE* y,
                                constant uint& pixels, constant uint& channels,
                                uint i [[thread_position_in_grid]]) {
  const uint count = pixels * channels;
  uint channel = 16 * i % channels;
  for (uint at = 16 * i; at < min(16 * i + 16, count); at += 4) {
    float4 v;
    for (uint j = 0; j < 4; ++j) {
      const float value = at + j < count ? float(x[at + j]) : 0.0f;
      v[j] = (value / 255.0f - float(mean[channel])) / float(deviation[channel]);
      channel = channel + 1 == channels ? 0 : channel + 1;
    }
    store_quad(y, at, count, v);
  }
}
