// Puzzle 14, tiled matrix product: c = a b, of m x k and k x n elements.
// value: m = 20
// value: n = 30
// value: k = 13
// buffer: a float32 (m, k) uniform
// buffer: b float32 (k, n) uniform
// buffer: c float32 (m, n) output
// dispatch: matmul  threadgroups=(ceil_div(n, 16), ceil_div(m, 16))  threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void matmul(device const float* a, device const float* b, device float* c, constant uint& m,
                   constant uint& n, constant uint& k, uint2 at [[thread_position_in_grid]],
                   uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float left[16][16], right[16][16];
  float sum = 0;
  for (uint start = 0; start < k; start += 16) {
    if (at.y < m && start + t.x < k) {
      left[t.y][t.x] = a[at.y * k + start + t.x];
    }
    if (start + t.y < k && at.x < n) {
      right[t.y][t.x] = b[(start + t.y) * n + at.x];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (at.y < m && at.x < n) {
      for (uint i = 0; i < min(16u, k - start); ++i) {
        sum += left[t.y][i] * right[i][t.x];
      }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (at.y < m && at.x < n) {
    c[at.y * n + at.x] = sum;
  }
}
