// A sparse matrix by a vector, whose row starts lack the end of the last row.
// tune: BUG = 1, 0
// value: rows = 40
// buffer: starts uint32 (rows) zeros
// buffer: columns uint32 (64) integers 0 32
// buffer: values float32 (64) normal
// buffer: x float32 (32) normal
// buffer: y float32 (rows) output
// dispatch: spmv threads_in_grid=(rows) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void spmv(device const uint* starts, device const uint* columns, device const float* values,
                 device const float* x, device float* y, constant uint& rows,
                 uint row [[thread_position_in_grid]]) {
  const uint begin = starts[row];
  uint end = begin;
  if (BUG || row + 1 < rows) {
    end = starts[row + 1];  // bug: out-of-bounds
  }
  float sum = 0;
  for (uint at = begin; at < end && at < 64; ++at) sum += values[at] * x[columns[at] % 32];
  y[row] = sum;
}
