// The best of the positive numbers of a row, of which there may be none.
// tune: BUG = 1, 0
// value: rows = 32
// buffer: x int32 (rows, 4) integers -9 2
// buffer: y int32 (rows) output
// dispatch: best threads_in_grid=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

int best_of(device const int* row) {
  int found;
  if (!BUG) found = 0;
  bool some = false;
  for (int k = 0; k < 4; ++k) {
    if (row[k] > 0 && (!some || row[k] > found)) {
      found = row[k];
      some = true;
    }
  }
  return found;
}

kernel void best(device const int* x, device int* y, uint row [[thread_position_in_grid]]) {
  const int found = best_of(x + row * 4);
  y[row] = found;  // bug: uninitialised
}
