// A sum begins with whatever the register held.
// tune: BUG = 1, 0
// value: rows = 8
// value: cols = 16
// buffer: x float32 (rows, cols) normal
// buffer: y float32 (rows) output
// dispatch: sum_rows threads_in_grid=(rows) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void sum_rows(device const float* x, device float* y, constant uint& cols,
                     uint i [[thread_position_in_grid]]) {
  float sum;
  if (!BUG) sum = 0;
  for (uint k = 0; k < cols; ++k) sum += x[i * cols + k];
  y[i] = sum;  // bug: uninitialised
}
