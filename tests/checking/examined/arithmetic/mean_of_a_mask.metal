// The mean over a mask that may be empty.
// tune: BUG = 1, 0
// value: rows = 64
// buffer: x int32 (rows, 4) integers 0 100
// buffer: mask uint32 (rows, 4) integers 0 2
// buffer: y int32 (rows) output
// dispatch: mean threads_in_grid=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void mean(device const int* x, device const uint* mask, device int* y,
                 uint row [[thread_position_in_grid]]) {
  int sum = 0, count = 0;
  for (uint k = 0; k < 4; ++k) {
    if (mask[4 * row + k]) {
      sum += x[4 * row + k];
      ++count;
    }
  }
  if (!BUG) count = max(count, 1);
  y[row] = sum / count;  // bug: division
}
