// A constant table behind its end.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: at uint32 (n) integers 0 4
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

constant float table[4] = {1, 2, 3, 4};

kernel void k(device const float* x, device const uint* at, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = x[i] * table[at[i] + BUG * 4];  // bug: out-of-bounds
}
