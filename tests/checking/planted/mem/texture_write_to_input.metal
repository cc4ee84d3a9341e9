// A texture that is an input is written.
// tune: BUG = 1, 0
// value: w = 8
// texture: t r32float (w, w) uniform
// buffer: y float32 (w, w) output
// dispatch: k threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture2d<float, access::read_write> t, device float* y, constant uint& w,
              uint2 p [[thread_position_in_grid]]) {
  y[p.y * w + p.x] = t.read(p).x;
  if (BUG) t.write(float4(0), p);  // bug: write-to-input
}
