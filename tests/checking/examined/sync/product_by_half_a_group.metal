// Half of a SIMD-group multiplies matrices.
// tune: BUG = 1, 0
// value: n = 8
// buffer: a float32 (n, n) normal
// buffer: c float32 (n, n) output
// dispatch: square threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void square(device const float* a, device float* c, constant uint& n,
                   uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 left, sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  simdgroup_load(left, a, n);
  if (!BUG || lane < 16) {
    simdgroup_multiply(sum, left, left);  // bug: simdgroup
  }
  simdgroup_store(sum, c, n);
}
