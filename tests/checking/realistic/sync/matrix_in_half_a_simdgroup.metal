// A product of eight by eight that half of the lanes take part in.
// tune: BUG = 1, 0
// buffer: a float32 (8, 8) normal
// buffer: b float32 (8, 8) normal
// buffer: c float32 (8, 8) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* a, device const float* b, device float* c,
              uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 left, right, product;
  simdgroup_load(left, a, 8);
  simdgroup_load(right, b, 8);
  product = make_filled_simdgroup_matrix<float, 8, 8>(0);
  if (!BUG || lane < 16)
    simdgroup_multiply_accumulate(product, left, right, product);  // bug: simdgroup
  simdgroup_store(product, c, 8);
}
