// A matrix product with four by four sums a thread, of which a row alone is set to zero.
// tune: BUG = 1, 0
// value: n = 16
// buffer: a float32 (n, n) normal
// buffer: b float32 (n, n) normal
// buffer: c float32 (n, n) output
// dispatch: k threadgroups=(1) threads=(4, 4)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* a, device const float* b, device float* c, constant uint& n,
              uint2 t [[thread_position_in_threadgroup]]) {
  float sums[4][4];
  for (uint r = 0; r < (BUG ? 1 : 4); ++r)
    for (uint s = 0; s < 4; ++s) sums[r][s] = 0;
  for (uint j = 0; j < n; ++j)
    for (uint r = 0; r < 4; ++r)
      for (uint s = 0; s < 4; ++s)
        sums[r][s] += a[(t.y * 4 + r) * n + j] * b[j * n + t.x * 4 + s];
  for (uint r = 0; r < 4; ++r)
    for (uint s = 0; s < 4; ++s)
      c[(t.y * 4 + r) * n + t.x * 4 + s] = sums[r][s];  // bug: uninitialised
}
