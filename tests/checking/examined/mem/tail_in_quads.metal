// A sum in quads whose last one is there only where the length is a multiple of four.
// tune: BUG = 1, 0
// value: n = 61
// buffer: x float32 (n) normal
// buffer: y float32 (16) output
// dispatch: sums threads_in_grid=(16) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const float* x, device float* y, constant uint& n,
                 uint i [[thread_position_in_grid]]) {
  float sum = 0;
  if (BUG || 4 * i + 3 < n) {
    device const packed_float4* quads = (device const packed_float4*)x;
    const float4 quad = quads[i];  // bug: out-of-bounds
    sum = quad.x + quad.y + quad.z + quad.w;
  } else {
    for (uint k = 4 * i; k < n; ++k) sum += x[k];
  }
  y[i] = sum;
}
