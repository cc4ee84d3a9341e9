// The lane below is asked for within a guard that it does not pass.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: difference threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void difference(device const float* x, device float* y,
                       uint lane [[thread_index_in_simdgroup]]) {
  float v = x[lane];
  float d = 0;
  if (BUG) {
    if (lane > 0) d = v - simd_shuffle(v, ushort(lane - 1));  // bug: simdgroup
  } else {
    float below = simd_shuffle(v, ushort(lane == 0 ? 0 : lane - 1));
    d = v - below;
  }
  y[lane] = d;
}
