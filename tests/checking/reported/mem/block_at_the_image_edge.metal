// Blocks of 4 x 4 pixels of an image whose height is not a multiple of four, as reported of ORNL/HeCBench#132.
// tune: BUG = 1, 0
// value: width = 16
// value: height = 10
// buffer: pixels uint32 (height, width) integers 0 256
// buffer: ends uint32 (ceil_div(height, 4), ceil_div(width, 4), 2) output
// dispatch: compress threads_in_grid=(ceil_div(width, 4), ceil_div(height, 4)) threads=(4, 4)
#include <metal_stdlib>
using namespace metal;

kernel void compress(device const uint* pixels, device uint2* ends, constant uint& width,
                     constant uint& height, uint2 block [[thread_position_in_grid]]) {
  uint least = ~0u, most = 0;
  for (uint k = 0; k < 16; ++k) {
    uint x = block.x * 4 + k % 4, y = block.y * 4 + k / 4;
    if (!BUG) y = min(y, height - 1);
    uint p = pixels[y * width + x];  // bug: out-of-bounds
    least = min(least, p);
    most = max(most, p);
  }
  ends[block.y * (width / 4) + block.x] = uint2(least, most);
}
