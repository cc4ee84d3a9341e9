// A matrix product whose depth is split over groups that add to the same sums.
// tune: BUG = 1, 0
// value: n = 8
// value: depth = 32
// buffer: a float32 (n, depth) normal
// buffer: b float32 (depth, n) normal
// buffer: c float32 (n, n) zeros inout
// dispatch: k threadgroups=(1, 1, 4) threads=(8, 8)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* a, device const float* b, device float* c, constant uint& n,
              constant uint& depth, uint3 at [[thread_position_in_grid]]) {
  float sum = 0;
  for (uint j = at.z * 8; j < at.z * 8 + 8; ++j) sum += a[at.y * depth + j] * b[j * n + at.x];
  if (BUG) {
    c[at.y * n + at.x] += sum;  // bug: race
  } else {
    device atomic_float* to = (device atomic_float*)c;
    atomic_fetch_add_explicit(&to[at.y * n + at.x], sum, memory_order_relaxed);
  }
}
