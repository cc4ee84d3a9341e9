// A matrix product is added to a matrix that is never set.
// tune: BUG = 1, 0
// value: n = 8
// buffer: a float32 (n, n) normal
// buffer: b float32 (n, n) normal
// buffer: c float32 (n, n) output
// dispatch: product threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float* a, device const float* b, device float* c,
                    constant uint& n) {
  simdgroup_float8x8 left, right, sum;
  if (!BUG) sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_load(left, a, n);
  simdgroup_load(right, b, n);
  simdgroup_multiply_accumulate(sum, left, right, sum);
  simdgroup_store(sum, c, n);  // bug: uninitialised
}
