// Threads beyond the columns return before the product of matrices that the whole SIMD-group makes.
// tune: BUG = 1, 0
// value: m = 8
// value: n = 24
// buffer: a float32 (m, 8) normal
// buffer: b float32 (8, n) normal
// buffer: c float32 (m, n) zeros inout
// dispatch: matmul threadgroups=(1) threads=(32)
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void matmul(device const float* a, device const float* b, device float* c,
                   constant uint& n, uint lane [[thread_index_in_simdgroup]]) {
  if (BUG && lane >= n) return;
  for (uint j = 0; j < n; j += 8) {
    simdgroup_float8x8 ma, mb, mc = make_filled_simdgroup_matrix<float, 8, 8>(0);
    simdgroup_load(ma, a, 8);  // bug: simdgroup
    simdgroup_load(mb, b + j, n);
    simdgroup_multiply_accumulate(mc, ma, mb, mc);
    simdgroup_store(mc, c + j, n);
  }
}
