// A function calls itself for ever.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

static float down(device const float* p, uint k, uint n) {
  float here[64];
  for (uint j = 0; j < 64; ++j) here[j] = p[(k + j) % n];
  if (k == 0 && !BUG) return here[1];
  return here[k % 64] + down(p, k == 0 ? 7 : k - 1, n);  // bug: stack-overflow
}

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  y[i] = down(x, i % 8, n);
}
