// A tiled matrix product whose threads outside of the matrix leave before the barrier.
// tune: BUG = 1, 0
// value: n = 12
// buffer: a float32 (n, n) normal
// buffer: y float32 (n, n) output
// dispatch: k threadgroups=(2, 2) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* a, device float* y, constant uint& n,
              uint2 at [[thread_position_in_grid]], uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[8][8];
  bool inside = at.x < n && at.y < n;
  if (BUG && !inside) return;
  tile[t.y][t.x] = inside ? a[at.y * n + at.x] : 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  float sum = 0;
  for (uint j = 0; j < 8; ++j) sum += !BUG || (at.x - t.x + j < n) ? tile[t.y][j] : 0;
  if (inside) y[at.y * n + at.x] = sum;
}
