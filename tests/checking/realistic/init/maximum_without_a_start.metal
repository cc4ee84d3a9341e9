// A row's maximum that starts with whatever is there.
// tune: BUG = 1, 0
// value: rows = 32
// buffer: x float32 (rows, 8) normal
// buffer: y float32 (rows) output
// dispatch: k threadgroups=(1) threads=(rows)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint row [[thread_position_in_grid]]) {
  float top;
  if (!BUG) top = -INFINITY;
  for (uint c = 0; c < 8; ++c) top = fmax(top, x[row * 8 + c]);
  y[row] = top;  // bug: uninitialised
}
