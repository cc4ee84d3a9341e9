// A grid of two dimensions is one row too high.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threads_in_grid=(16, 17) threads=(16, 4)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint2 p [[thread_position_in_grid]]) {
  if (p.y < 16u + BUG) y[p.y * 16 + p.x] = x[min(p.y, 15u) * 16 + p.x];  // bug: out-of-bounds
}
