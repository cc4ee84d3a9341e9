// A tiled product that loads the next tile while others are at the last one.
// tune: BUG = 1, 0
// value: n = 32
// buffer: a float32 (n, n) normal
// buffer: b float32 (n, n) normal
// buffer: c float32 (n, n) output
// dispatch: product threads_in_grid=(n, n) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float* a, device const float* b, device float* c, constant uint& n,
                    uint2 at [[thread_position_in_grid]],
                    uint2 in [[thread_position_in_threadgroup]]) {
  threadgroup float left[16][16];
  threadgroup float right[16][16];
  float sum = 0;
  for (uint k = 0; k < n; k += 16) {
    right[in.y][in.x] = b[(k + in.y) * n + at.x];  // bug: race
    left[in.y][in.x] = a[at.y * n + k + in.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 16; ++j) sum += left[in.y][j] * right[j][in.x];
    if (!BUG)
      threadgroup_barrier(mem_flags::mem_threadgroup);
    else
      simdgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[at.y * n + at.x] = sum;
}
