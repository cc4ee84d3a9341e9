// A flood fill looks at its neighbours' texels while they paint them.
// tune: BUG = 1, 0
// value: w = 16
// texture: mask r32uint (w, w) integers 0 2 inout
// texture: next r32uint (w, w) output
// dispatch: fill threads_in_grid=(w, w) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void fill(texture2d<uint, access::read_write> mask, texture2d<uint, access::write> next,
                 uint2 p [[thread_position_in_grid]]) {
  uint up = p.y > 0 ? mask.read(uint2(p.x, p.y - 1)).x : 0;
  uint own = mask.read(p).x;
  if (BUG) mask.write(uint4(own | up), p);  // bug: race
  next.write(uint4(own | up), p);
}
