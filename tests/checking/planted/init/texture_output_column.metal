// One column of a texture is not written.
// tune: BUG = 1, 0
// value: w = 8
// buffer: x float32 (w, w) normal
// texture: t rg32float (w, w) output
// dispatch: k threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, constant uint& w, uint2 p [[thread_position_in_grid]],
              texture2d<float, access::write> t) {  // bug: output-not-written
  if (!BUG || p.x != 3) t.write(float4(x[p.y * w + p.x]), p);
}
