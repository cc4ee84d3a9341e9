// A reduction by shuffles inside the guard of the grid's edge.
// tune: BUG = 1, 0
// value: n = 27
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint lane [[thread_index_in_simdgroup]]) {
  if (BUG && lane >= n) return;
  float sum = lane < n ? x[lane] : 0;
  for (ushort step = 16; step > 0; step /= 2) {
    float other = simd_shuffle_down(sum, step);  // bug: simdgroup
    if (lane + step < 32) sum += other;
  }
  if (lane == 0) y[0] = sum;
}
