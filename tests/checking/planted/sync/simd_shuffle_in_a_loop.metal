// Lanes go round a loop not equally often.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < 1 + BUG * (t % 3); ++k) {
    v = simd_shuffle(v, ushort(31 - t % 32));  // bug: simdgroup
  }
  y[i] = v;
}
