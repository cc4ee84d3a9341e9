// Lanes with nothing to do have left when the others ask them.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n) normal
// buffer: y float32 (n) zeros inout
// dispatch: differences threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

float after(float own, uint lane) {
  return simd_shuffle(own, ushort((lane + 1) % 32));  // bug: simdgroup
}

kernel void differences(device const float* x, device float* y,
                        uint lane [[thread_index_in_simdgroup]]) {
  const float own = x[lane];
  if (BUG && own < -0.3f) return;
  y[lane] = after(own, lane) - own;
}
