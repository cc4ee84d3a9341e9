// A box filter's threads go down columns that the image has not, as reported of ORNL/HeCBench#112.
// tune: BUG = 1, 0
// value: width = 50
// value: height = 12
// buffer: image uint32 (height, width) integers 0 256
// buffer: out uint32 (height, width) output
// dispatch: columns threadgroups=(ceil_div(width, 32)) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void columns(device const uint* image, device uint* out, constant uint& width,
                    constant uint& height, uint x [[thread_position_in_grid]]) {
  if (!BUG && x >= width) return;
  uint sum = 0;
  for (uint y = 0; y < height; ++y) {
    sum += image[y * width + x];  // bug: out-of-bounds
    if (y >= 3) sum -= image[(y - 3) * width + x];
    if (x < width) out[y * width + x] = sum / 3;
  }
}
