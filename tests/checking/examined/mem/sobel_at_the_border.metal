// A Sobel filter whose right neighbour is beyond the last column.
// tune: BUG = 1, 0
// value: w = 16
// texture: image r32float (w, w) uniform
// texture: edges r32float (w, w) output
// dispatch: sobel threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void sobel(texture2d<float, access::read> image, texture2d<float, access::write> edges,
                  uint2 p [[thread_position_in_grid]]) {
  const uint left = p.x > 0 ? p.x - 1 : 0;
  const uint right = BUG ? p.x + 1 : min(p.x + 1, image.get_width() - 1);
  const float before = image.read(uint2(left, p.y)).x;
  const float after = image.read(uint2(right, p.y)).x;  // bug: texture-bounds
  edges.write(float4(after - before), p);
}
