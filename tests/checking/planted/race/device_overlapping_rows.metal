// The last element of a row is the first of the next.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (4 * n + 1) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  for (uint k = 0; k < 4 + BUG; ++k) {
    y[4 * i + k] = x[i] + k;  // bug: race
  }
}
