// A blur that takes what lies beyond the edge for the edge: such reads give black.
// tune: BUG = 1, 0
// value: w = 20
// value: h = 12
// texture: image r32float (w, h) uniform
// texture: out r32float (w, h) output
// dispatch: blur threads_in_grid=(w, h) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void blur(texture2d<float, access::read> image, texture2d<float, access::write> out,
                 uint2 at [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < 3; ++k) {
    uint x = at.x + k;
    if (!BUG) x = min(x, image.get_width() - 1);
    sum += image.read(uint2(x, at.y)).x;  // bug: texture-bounds
  }
  out.write(float4(sum / 3), at);
}
