// A layer norm that writes the scaled weight back.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: gamma float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* gamma, device float* y,
              uint lane [[thread_index_in_simdgroup]]) {
  float mean = simd_sum(x[lane] + x[lane + 32]) / 64;
  for (uint c = lane; c < 64; c += 32) {
    float scale = gamma[c] * 2;
    if (BUG) gamma[c] = scale;  // bug: write-to-input
    y[c] = (x[c] - mean) * scale;
  }
}
