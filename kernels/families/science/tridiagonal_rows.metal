// Tridiagonal systems by parallel cyclic reduction, each system a row: a thread has an equation, in
// which it replaces both neighbours by theirs, so that the next neighbours are twice as far away. When
// they are beyond the ends, each equation has one unknown: log2 n steps, each with two barriers,
// where Thomas' algorithm has 2 n dependent ones. The matrix must be diagonally dominant, or positive
// definite: nothing is pivoted.
// dispatch: tridiagonal_rows  threadgroups=(systems)  threads=(32 * ceil_div(n, 32))
// dtypes: float32
// limits: n <= 1024, systems * n <= 4294967295
#include <metal_stdlib>
using namespace metal;

[[kernel, max_total_threads_per_threadgroup(1024)]] void tridiagonal_rows(
    device const float* lower, device const float* diagonal, device const float* upper,
    device const float* right, device float* y, constant uint& n,
    uint system [[threadgroup_position_in_grid]], uint i [[thread_index_in_threadgroup]]) {
  threadgroup float4 equations[1024];  // lower, diagonal and upper coefficient, right side
  const uint at = system * n + i;
  const float4 none = float4(0.0f, 1.0f, 0.0f, 0.0f);  // beyond the ends: an unknown that is zero
  float4 own = none;
  if (i < n) {
    own = float4(i == 0 ? 0.0f : lower[at], diagonal[at], i + 1 == n ? 0.0f : upper[at], right[at]);
  }
  for (uint distance = 1; distance < n; distance *= 2) {
    equations[i] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float4 before = none, after = none;
    if (i >= distance) {
      before = equations[i - distance];
    }
    if (i + distance < n) {
      after = equations[i + distance];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float by_before = -own.x / before.y, by_after = -own.z / after.y;
    own.x = by_before * before.x;
    own.y = fma(by_before, before.z, fma(by_after, after.x, own.y));
    own.z = by_after * after.z;
    own.w = fma(by_before, before.w, fma(by_after, after.w, own.w));
  }
  if (i < n) {
    y[at] = own.w / own.y;
  }
}
