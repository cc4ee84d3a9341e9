// Rotary positions: pairs are read as vectors that begin at an odd element.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (2 * n + 2) normal
// buffer: y float32 (2 * n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float2 pair = *(device const float2*)(x + 2 * i + BUG);  // bug: misaligned
  float angle = float(i) * 0.1f;
  y[2 * i] = pair.x * cos(angle) - pair.y * sin(angle);
  y[2 * i + 1] = pair.x * sin(angle) + pair.y * cos(angle);
}
