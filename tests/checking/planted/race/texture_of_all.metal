// All threads write to one texel.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// texture: t r32float (n) zeros inout
// dispatch: k threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, texture1d<float, access::write> t,
              uint i [[thread_position_in_grid]]) {
  t.write(float4(x[i]), BUG ? 0 : i);  // bug: race
}
