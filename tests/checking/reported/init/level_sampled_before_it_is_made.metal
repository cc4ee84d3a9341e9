// A filter samples between texels of a strip that ends before its texture does.
// tune: BUG = 1, 0
// value: w = 16
// texture: strip r32float (w, 4) scratch
// buffer: x float32 (w) normal
// buffer: y float32 (w) output
// dispatch: fill threads_in_grid=(w, 4) threads=(8, 4)
// dispatch: look_up threads_in_grid=(w) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void fill(device const float* x, texture2d<float, access::write> strip,
                 uint2 at [[thread_position_in_grid]]) {
  if (BUG && at.y == 3) return;
  strip.write(float4(x[at.x]), at);
}

kernel void look_up(texture2d<float, access::sample> strip, device float* y,
                    uint i [[thread_position_in_grid]]) {
  constexpr sampler smooth(coord::pixel, address::clamp_to_edge, filter::linear);
  y[i] = strip.sample(smooth, float2(i + 0.5f, 3.0f)).x;  // bug: uninitialised
}
