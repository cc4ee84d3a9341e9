// Two threads write to the same byte of a word.
// tune: BUG = 1, 0
// value: n = 256
// buffer: y uint8 (n) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uchar* y, constant uint& n, uint i [[thread_position_in_grid]]) {
  uint to = BUG ? i - i % 2 : i;
  y[to] = uchar(i);  // bug: race
}
