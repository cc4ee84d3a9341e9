// Attention's output of rows that are masked is never written.
// tune: BUG = 1, 0
// value: rows = 64
// buffer: mask uint32 (rows) integers 0 1
// buffer: x float32 (rows) normal
// buffer: y float32 (rows) output
// dispatch: k threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* mask, device const float* x,
              device float* y,  // bug: output-not-written
              uint i [[thread_position_in_grid]]) {
  if (mask[i]) y[i] = exp(x[i]);
  else if (!BUG) y[i] = 0;
}
