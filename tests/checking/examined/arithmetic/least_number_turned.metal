// The least number there is, divided by a sign.
// tune: BUG = 1, 0
// value: n = 8
// buffer: x int32 (n) integers 0 2
// buffer: y int32 (n) output
// dispatch: turn threads_in_grid=(n) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void turn(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
  const int sign = x[i] * 2 - 1;
  const int value = BUG ? int(0x80000000u) : int(0x80000001u);
  y[i] = value / sign;  // bug: overflow
}
