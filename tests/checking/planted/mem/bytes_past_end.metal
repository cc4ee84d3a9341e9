// A byte behind the end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: b uint8 (n) integers 0 255
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uchar* b, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = b[i + BUG];  // bug: out-of-bounds
}
