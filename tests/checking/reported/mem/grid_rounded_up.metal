// Whole threadgroups over an image that they do not fit, and no guard.
// tune: BUG = 1, 0
// value: w = 20
// value: h = 12
// texture: image rgba8unorm (w, h) uniform
// texture: out rgba8unorm (w, h) output
// dispatch: invert threadgroups=(ceil_div(w, 8), ceil_div(h, 8)) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void invert(texture2d<half, access::sample> image, texture2d<half, access::write> out,
                   uint2 at [[thread_position_in_grid]]) {
  if (!BUG && (at.x >= out.get_width() || at.y >= out.get_height())) return;
  constexpr sampler nearest(coord::pixel, address::clamp_to_edge, filter::nearest);
  half4 pixel = image.sample(nearest, float2(at) + 0.5f);
  out.write(half4(1 - pixel.rgb, pixel.a), at);  // bug: texture-bounds
}
