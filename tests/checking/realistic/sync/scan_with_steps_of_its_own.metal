// A shuffle up by a step that each lane counts for itself.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, uint lane [[thread_index_in_simdgroup]]) {
  float sum = x[lane];
  for (ushort j = 0; j < 5; ++j) {
    ushort step = 1 << j;
    if (BUG && step > lane) step = 0;
    float other = simd_shuffle_up(sum, step);  // bug: simdgroup
    if (lane >= (1 << j)) sum += other;
  }
  y[lane] = sum;
}
