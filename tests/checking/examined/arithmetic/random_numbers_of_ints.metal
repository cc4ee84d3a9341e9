// A linear congruence in signed numbers.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x int32 (n) integers 1000000 2000000
// buffer: y int32 (n) output
// dispatch: next threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void next(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
  int state = x[i];
  for (int k = 0; k < 3; ++k) {
    if (BUG)
      state = state * 1103515245 + 12345;  // bug: signed-overflow
    else
      state = int(uint(state) * 1103515245u + 12345u);
  }
  y[i] = state;
}
