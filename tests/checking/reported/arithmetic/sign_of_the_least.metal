// Fixed-point numbers are divided by a sign, and one of them is the least that there is.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x int32 (n) integers -2147483648 -2147483647
// buffer: sign int32 (n) integers -1 0
// buffer: y int32 (n) output
// dispatch: by_sign threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void by_sign(device const int* x, device const int* sign, device int* y,
                    uint i [[thread_position_in_grid]]) {
  int v = BUG ? x[i] : max(x[i], -2147483647);
  y[i] = v / sign[i];  // bug: overflow
}
