// A row of a texture is sampled, and only threads of odd numbers say which.
// tune: BUG = 1, 0
// value: w = 8
// texture: t r32float (w, w) uniform
// sampler: s coord::pixel, filter::linear
// buffer: y float32 (w) output
// dispatch: k threads_in_grid=(w) threads=(w)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture2d<float> t, sampler s, device float* y, uint i [[thread_position_in_grid]]) {
  float2 place;
  place.x = i + 0.5f;
  if (!BUG || i % 2 == 1) place.y = 1.5f;
  y[i] = t.sample(s, place).x;  // bug: uninitialised
}
