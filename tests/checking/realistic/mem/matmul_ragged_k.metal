// A tiled matrix product whose last tile of k is loaded whole.
// tune: BUG = 1, 0
// value: m = 16
// value: n = 16
// value: depth = 24
// buffer: a float32 (m, depth) normal
// buffer: b float32 (depth, n) normal
// buffer: c float32 (m, n) output
// dispatch: k threadgroups=(1) threads=(16, 16)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* a, device const float* b, device float* c, constant uint& m,
              constant uint& n, constant uint& depth, uint2 t [[thread_position_in_threadgroup]]) {
  threadgroup float as[16][16], bs[16][16];
  float sum = 0;
  for (uint start = 0; start < depth; start += 16) {
    bool inside_a = start + t.x < depth;
    bool inside_b = BUG || start + t.y < depth;
    as[t.y][t.x] = inside_a ? a[t.y * depth + start + t.x] : 0;
    bs[t.y][t.x] = inside_b ? b[(start + t.y) * n + t.x] : 0;  // bug: out-of-bounds
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0; j < 16; ++j) sum += as[t.y][j] * bs[j][t.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  c[t.y * n + t.x] = sum;
}
