// A sum over a SIMD-group whose upper lanes have no value.
// tune: BUG = 1, 0
// value: n = 20
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint lane [[thread_index_in_simdgroup]]) {
  float value;
  if (lane < n) value = x[lane];
  else if (!BUG) value = 0;
  float sum = simd_sum(value);
  if (lane == 0) y[0] = sum;  // bug: uninitialised
}
