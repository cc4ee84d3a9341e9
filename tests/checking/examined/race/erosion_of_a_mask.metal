// An erosion that writes the mask which its neighbours read.
// tune: BUG = 1, 0
// value: w = 16
// texture: mask r32uint (w, w) integers 0 2 inout
// texture: next r32uint (w, w) output
// dispatch: erode threads_in_grid=(w, w) threads=(16, 4)
#include <metal_stdlib>
using namespace metal;

kernel void erode(texture2d<uint, access::read_write> mask, texture2d<uint, access::write> next,
                  uint2 p [[thread_position_in_grid]]) {
  const uint below = min(p.y + 1, mask.get_height() - 1);
  const uint own = mask.read(p).x & mask.read(uint2(p.x, below)).x;
  next.write(uint4(own), p);
  if (BUG) mask.write(uint4(own), p);  // bug: race
}
