// A bilinear enlargement that takes the pixel right of the last and below the last.
// tune: BUG = 1, 0
// value: side = 16
// buffer: image float32 (side, side) normal
// buffer: y float32 (2 * side, 2 * side) output
// dispatch: k threads_in_grid=(2 * side, 2 * side) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* image, device float* y, constant uint& side,
              uint2 at [[thread_position_in_grid]]) {
  float2 source = float2(at) * 0.5f;
  uint2 low = uint2(source);
  uint2 high = BUG ? low + 1 : min(low + 1, side - 1);
  float2 part = fract(source);
  float above = mix(image[low.y * side + low.x], image[low.y * side + min(high.x, side - 1)], part.x);
  float left = image[high.y * side + low.x];  // bug: out-of-bounds
  y[at.y * 2 * side + at.x] = mix(above, left, part.y);
}
