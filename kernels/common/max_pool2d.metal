// 2 x 2 max pooling, channels last: a thread computes four channels of one output pixel.
// Neighbouring threads read neighbouring channels, so every load is part of a whole cache line, and
// each input element is read exactly once. An odd last row or column is not part of any window.
// dispatch: max_pool2d  threads_in_grid=(ceil_div(channels, 4), width / 2, batch * (height / 2))  threads=(QUADS, PIXELS)
// tune: QUADS = 16, 8, 32
// tune: PIXELS = 16, 4, 8, 32
#include <metal_stdlib>
using namespace metal;

[[kernel]] void max_pool2d(device const float* x, device float* y, constant uint& height,
                           constant uint& width, constant uint& channels,
                           uint3 position [[thread_position_in_grid]]) {
  const uint channel = 4 * position.x;
  const uint row = 2 * (position.z % (height / 2));
  const uint image = position.z / (height / 2);
  const ulong upper =
      ((ulong(image) * height + row) * width + 2 * position.y) * channels + channel;
  const ulong lower = upper + ulong(width) * channels;
  const ulong to = (ulong(position.z) * (width / 2) + position.y) * channels + channel;
  if (channels % 4 == 0) {
    const float4 top = max(*(device const float4*)(x + upper),
                           *(device const float4*)(x + upper + channels));
    const float4 bottom = max(*(device const float4*)(x + lower),
                              *(device const float4*)(x + lower + channels));
    *(device float4*)(y + to) = max(top, bottom);
    return;
  }
  for (uint c = 0; c < min(4u, channels - channel); ++c) {
    const float top = max(x[upper + c], x[upper + channels + c]);
    const float bottom = max(x[lower + c], x[lower + channels + c]);
    y[to + c] = max(top, bottom);
  }
}
