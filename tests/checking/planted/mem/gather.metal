// An index from data is n.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: at uint32 (n) iota
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device const uint* at, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  y[i] = x[at[i] + BUG * (i == 7) * n];  // bug: out-of-bounds
}
