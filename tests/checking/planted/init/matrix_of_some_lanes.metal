// Lanes fill their elements of a matrix, some only one of the two.
// tune: BUG = 1, 0
// value: m = 8
// buffer: a float16 (m, m) normal
// buffer: even float32 (32) output
// buffer: odd float32 (32) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half* a, device float* even, device float* odd,
              uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 sum = simdgroup_float8x8(0);
  simdgroup_half8x8 x, weights;
  simdgroup_load(x, a, 8);
  weights.thread_elements()[0] = 1;
  if (!BUG || lane > 3) weights.thread_elements()[1] = lane;
  simdgroup_multiply_accumulate(sum, x, weights, sum);
  even[lane] = sum.thread_elements()[0];
  odd[lane] = sum.thread_elements()[1];  // bug: uninitialised
}
