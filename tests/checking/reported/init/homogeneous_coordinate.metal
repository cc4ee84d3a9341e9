// Three components of a position are given, and four are multiplied.
// tune: BUG = 1, 0
// value: n = 64
// buffer: p float32 (n, 3) normal
// buffer: y float32 (n) output
// dispatch: project threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void project(device const packed_float3* p, device float* y,
                    uint i [[thread_position_in_grid]]) {
  float4 at;
  at.xyz = float3(p[i]);
  if (!BUG) at.w = 1;
  float depth = dot(at, float4(0, 0, 1, 0.5f));
  y[i] = depth;  // bug: uninitialised
}
