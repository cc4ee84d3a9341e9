// A colour of which three components are set.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n, 3) uniform
// buffer: y float32 (n) output
// dispatch: weigh threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void weigh(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float4 colour;
  colour.rgb = float3(((device const packed_float3*)x)[i]);
  if (!BUG) colour.a = 1;
  const float4 weights = float4(0.3f, 0.59f, 0.11f, 0.1f);
  y[i] = dot(colour, weights);  // bug: uninitialised
}
