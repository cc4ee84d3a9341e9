// A colour's alpha is left as it was, and written to the image.
// tune: BUG = 1, 0
// value: w = 8
// texture: image rgba8unorm (w, w) uniform
// texture: out rgba8unorm (w, w) output
// dispatch: swap threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void swap(texture2d<float, access::read> image, texture2d<float, access::write> out,
                 uint2 p [[thread_position_in_grid]]) {
  float4 colour;
  colour.rgb = image.read(p).bgr;
  if (!BUG) colour.a = 1;
  out.write(colour, p);  // bug: uninitialised
}
