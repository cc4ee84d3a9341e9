// Digits are kept in an array that has room for nine, and a number has ten.
// tune: BUG = 1, 0
// value: n = 16
// buffer: x uint32 (n) integers 1000000000 2000000000
// buffer: y uint32 (n) output
// dispatch: digit_sums threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void digit_sums(device const uint* x, device uint* y, uint i [[thread_position_in_grid]]) {
  uint digit[BUG ? 9 : 10];
  uint count = 0;
  for (uint v = x[i]; v != 0; v /= 10) digit[count++] = v % 10;  // bug: out-of-bounds
  uint sum = 0;
  for (uint k = 0; k < min(count, 9u); ++k) sum += digit[k];
  y[i] = sum;
}
