// An image is halved, and the thread's own coordinates are used for the result.
// tune: BUG = 1, 0
// value: w = 16
// texture: image r32float (w, w) uniform
// texture: small r32float (8, 8) zeros inout
// dispatch: halve threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void halve(texture2d<float, access::read> image, texture2d<float, access::write> small,
                  uint2 p [[thread_position_in_grid]]) {
  if (!BUG && (p.x % 2 != 0 || p.y % 2 != 0)) return;
  small.write(image.read(p), p / 2);  // bug: race
}
