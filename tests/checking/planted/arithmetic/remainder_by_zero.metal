// A remainder by zero.
// tune: BUG = 1, 0
// value: n = 256
// buffer: a int32 (n) integers 1 9
// buffer: y int32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* a, device int* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  uint by = uint(a[i]) * (1 - BUG);
  y[i] = int(100u % by);  // bug: division
}
