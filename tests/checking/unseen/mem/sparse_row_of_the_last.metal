// A sparse matrix' row pointers have one entry more than rows; the kernel's buffer has not.
// tune: BUG = 1, 0
// value: rows = 12
// buffer: first uint32 (rows) iota
// buffer: value float32 (rows) normal
// buffer: y float32 (rows) output
// dispatch: sum_rows threads_in_grid=(rows) threads=(12)
#include <metal_stdlib>
using namespace metal;

kernel void sum_rows(device const uint* first, device const float* value, device float* y,
                     constant uint& rows, uint i [[thread_position_in_grid]]) {
  uint end;
  if (BUG) end = first[i + 1];  // bug: out-of-bounds
  else end = i + 1 < rows ? first[i + 1] : rows;
  float sum = 0;
  for (uint k = first[i]; k < end && k < rows; ++k) sum += value[k];
  y[i] = sum;
}
