// Where a texel lies was never given.
// tune: BUG = 1, 0
// value: w = 8
// texture: t r32float (w, w) uniform
// buffer: y float32 (w, w) output
// dispatch: k threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture2d<float, access::read> t, device float* y, constant uint& w,
              uint2 p [[thread_position_in_grid]]) {
  uint2 q;
  q.x = p.x;
  if (!BUG) q.y = p.y;
  y[p.y * w + p.x] = t.read(q).x;  // bug: uninitialised
}
