// Images of overlapping patches of 3 x 3 pixels: the gradient of im2col. A thread makes four
// channels of a pixel and gathers the up to nine places that it has in patches, so that nothing is
// added to memory and the order of sums is always the same. All of them are read once, in whole
// lines where channels are many; places outside of the patches there are add nothing.
// dispatch: col2im  threads_in_grid=(ceil_div(channels, 4), width, batch * height)  threads=(TG, 128 / TG, 1)
// tune: TG = 8, 4, 16, 32
// dtypes: float32, float16, bfloat16
#include "metalbench/quads.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void col2im(device const DTYPE* x, device DTYPE* y, constant uint& height,
                       constant uint& width, constant uint& channels,
                       uint3 at [[thread_position_in_grid]]) {
  const uint high = height - 2, wide = width - 2, column = 4 * at.x;
  const uint row = at.z % height, image = at.z / height;
  float4 sum = 0.0f;
  UNROLLED
  for (uint i = 0; i < 3; ++i) {
    UNROLLED
    for (uint j = 0; j < 3; ++j) {
      // Past either end: below zero is a large number.
      const uint patch_row = row - i, patch_column = at.y - j;
      if (patch_row < high && patch_column < wide) {
        const ulong patch = (ulong(image) * high + patch_row) * wide + patch_column;
        sum += load_quad(x + (patch * 9 + 3 * i + j) * channels, column, channels);
      }
    }
  }
  store_quad(y + (ulong(at.z) * width + at.y) * channels, column, channels, sum);
}
