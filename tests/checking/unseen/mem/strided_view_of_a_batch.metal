// The batch's stride is given in bytes, and taken for elements.
// tune: BUG = 1, 0
// value: batch = 3
// value: n = 32
// buffer: x float32 (batch, n) normal
// buffer: y float32 (batch, n) output
// dispatch: negate threads_in_grid=(n, batch) threads=(32, 1)
#include <metal_stdlib>
using namespace metal;

kernel void negate(device const float* x, device float* y, constant uint& n,
                   uint2 at [[thread_position_in_grid]]) {
  uint stride = BUG ? n * sizeof(float) : n;
  device const float* own = x + at.y * stride;
  y[at.y * n + at.x] = -own[at.x];  // bug: out-of-bounds
}
