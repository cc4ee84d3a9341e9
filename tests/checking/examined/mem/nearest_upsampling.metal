// Nearest neighbour upsampling that takes the width for the height.
// tune: BUG = 1, 0
// value: h = 6
// value: w = 10
// buffer: x float32 (h, w) normal
// buffer: y float32 (12, 20) output
// dispatch: upsample threads_in_grid=(20, 12) threads=(4, 4)
#include <metal_stdlib>
using namespace metal;

struct Image {
  device const float* data;
  uint height, width;
  float at(uint row, uint column) const {
    return data[row * width + column];  // bug: out-of-bounds
  }
};

kernel void upsample(device const float* x, device float* y, constant uint& h, constant uint& w,
                     uint2 p [[thread_position_in_grid]]) {
  const Image image = {x, h, w};
  const uint scale_y = BUG ? 1 : 2;
  y[p.y * 20 + p.x] = image.at(p.y / scale_y, p.x / 2);
}
