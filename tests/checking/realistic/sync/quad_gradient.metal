// A gradient within quads of which some threads have left.
// tune: BUG = 1, 0
// value: n = 62
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint t [[thread_position_in_threadgroup]]) {
  if (BUG && t >= n) return;
  float mine = x[min(t, n - 1)];
  float other = quad_shuffle_xor(mine, 2);  // bug: simdgroup
  if (t < n) y[t] = other - mine;
}
