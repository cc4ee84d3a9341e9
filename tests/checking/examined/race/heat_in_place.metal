// A step of the heat equation, in place.
// tune: BUG = 1, 0
// value: n = 128
// buffer: u float32 (n) normal inout
// buffer: v float32 (n) output
// dispatch: step threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void step(device float* u, device float* v, constant uint& n,
                 uint i [[thread_position_in_grid]]) {
  const float left = i > 0 ? u[i - 1] : 0.0f;
  const float right = i + 1 < n ? u[i + 1] : 0.0f;
  const float next = u[i] + 0.1f * (left - 2 * u[i] + right);
  if (BUG) u[i] = next;  // bug: race
  v[i] = next;
}
