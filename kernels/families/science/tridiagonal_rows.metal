// Tridiagonal systems by parallel cyclic reduction, each system a row with a thread for each equation
// (metalbench/tridiagonal.h): log2 n steps, each with two barriers, where Thomas' algorithm has 2 n
// dependent ones. The matrix must be diagonally dominant, or positive definite.
// dispatch: tridiagonal_rows  threadgroups=(systems)  threads=(32 * ceil_div(n, 32))
// dtypes: float32
// limits: n <= 1024, systems * n <= 4294967295
#include "metalbench/tridiagonal.h"
using namespace metal;
using namespace metalbench;

[[kernel, max_total_threads_per_threadgroup(1024)]] void tridiagonal_rows(
    device const float* lower, device const float* diagonal, device const float* upper,
    device const float* right, device float* y, constant uint& n,
    uint system [[threadgroup_position_in_grid]], uint i [[thread_index_in_threadgroup]]) {
  threadgroup float4 equations[1024];
  const uint at = system * n + i;
  float4 own = float4(0.0f, 1.0f, 0.0f, 0.0f);
  if (i < n) {
    own = float4(i == 0 ? 0.0f : lower[at], diagonal[at], i + 1 == n ? 0.0f : upper[at], right[at]);
  }
  const float found = solve_tridiagonal(own, equations, i, n);
  if (i < n) {
    y[at] = found;
  }
}
