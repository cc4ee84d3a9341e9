// The grid is rounded down.
// tune: BUG = 1, 0
// value: n = 250
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(250 - 58 * BUG) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y,  // bug: output-not-written
              uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
