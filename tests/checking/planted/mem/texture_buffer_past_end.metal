// A texel behind the last one of a texture of a buffer.
// tune: BUG = 1, 0
// value: n = 64
// texture: t rg32float (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture_buffer<float, access::read> t, device float* y,
              uint i [[thread_position_in_grid]]) {
  y[i] = t.read(i + BUG).y;  // bug: texture-bounds
}
