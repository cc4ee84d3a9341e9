// The fourth pixel of a quad is asked for, where the image ends within the quad.
// tune: BUG = 1, 0
// value: n = 62
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: quads threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void quads(device const float* x, device float* y, constant uint& n,
                  uint i [[thread_position_in_grid]]) {
  if (BUG && i >= n) return;
  float v = i < n ? x[i] : 0;
  float last = quad_broadcast(v, 3);  // bug: simdgroup
  if (i < n) y[i] = v - last;
}
