// A texel below the last row is written.
// tune: BUG = 1, 0
// value: w = 8
// buffer: x float32 (w, w) normal
// texture: t rgba16float (w, w) zeros inout
// dispatch: k threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, texture2d<half, access::write> t, constant uint& w,
              uint2 p [[thread_position_in_grid]]) {
  t.write(half4(x[p.y * w + p.x]), uint2(p.x, p.y + BUG));  // bug: texture-bounds
}
