// A butterfly over 32 lanes where there are 24.
// tune: BUG = 1, 0
// value: n = 24
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(24)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  float v = x[i];
  v += simd_shuffle_xor(v, BUG ? 16 : 4);  // bug: simdgroup
  y[i] = v;
}
