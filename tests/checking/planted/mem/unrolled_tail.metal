// A loop by four does not end where n does.
// tune: BUG = 1, 0
// value: n = 254
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  float sum = 0;
  for (uint k = 0; k < n - 3 * (1 - BUG); k += 4) {
    sum += x[k] + x[k + 1] + x[k + 2] + x[k + 3];  // bug: out-of-bounds
  }
  if (i < n) y[i] = sum;
}
