// A texture that another dispatch should have made is sampled.
// tune: BUG = 1, 0
// value: w = 8
// texture: t r32float (w, w) scratch
// buffer: y float32 (w, w) output
// dispatch: make threads_in_grid=(w, w) threads=(8, 8)
// dispatch: k threads_in_grid=(w, w) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void make(texture2d<float, access::write> t, uint2 p [[thread_position_in_grid]]) {
  if (!BUG) t.write(float4(p.x), p);
}

kernel void k(texture2d<float> t, device float* y, constant uint& w,
              uint2 p [[thread_position_in_grid]]) {
  constexpr sampler s(filter::linear, address::repeat);
  y[p.y * w + p.x] = t.sample(s, (float2(p) + 0.25f) / w).x;  // bug: uninitialised
}
