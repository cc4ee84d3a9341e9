// A shift by more bits than there are.
// tune: BUG = 1, 0
// value: n = 256
// buffer: a int32 (n) integers 1 9
// buffer: y int32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* a, device int* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = a[i] << (a[i] + 32 * BUG);  // bug: shift
}
