// A rotation's matrix has two of its columns set.
// tune: BUG = 1, 0
// value: n = 16
// buffer: angle float32 (n) uniform
// buffer: y float32 (n) output
// dispatch: rotate threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void rotate(device const float* angle, device float* y, uint i [[thread_position_in_grid]]) {
  float3x3 m;
  float c = cos(angle[i]), s = sin(angle[i]);
  m[0] = float3(c, s, 0);
  m[1] = float3(-s, c, 0);
  if (!BUG) m[2] = float3(0, 0, 1);
  float3 r = m * float3(1, 2, 3);
  y[i] = r.x + r.y + r.z;  // bug: uninitialised
}
