// A texture is sharpened in place, while its neighbours read it.
// tune: BUG = 1, 0
// value: w = 16
// texture: image r32float (w, w) uniform inout
// texture: out r32float (w, w) output
// dispatch: sharpen threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void sharpen(texture2d<float, access::read_write> image,
                    texture2d<float, access::write> out, uint2 at [[thread_position_in_grid]]) {
  uint2 left = uint2(at.x == 0 ? 0 : at.x - 1, at.y);
  float v = 2 * image.read(at).x - image.read(left).x;
  if (BUG) image.write(float4(v), at);  // bug: race
  out.write(float4(v), at);
}
