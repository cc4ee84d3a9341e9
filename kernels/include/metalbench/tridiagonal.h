// Tridiagonal systems by parallel cyclic reduction: a thread has an equation, in which it replaces
// both neighbours by theirs, so that the next neighbours are twice as far away. When they are
// beyond the ends each equation has one unknown. Nothing is pivoted: the matrix must be diagonally
// dominant, or positive definite.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

// Returns unknown i of n. `own` has the lower, diagonal and upper coefficient and the right side of
// equation i, the lower one of the first equation and the upper one of the last being zero; threads
// past the end have the equation (0, 1, 0, 0). `equations` has an element for each thread.
inline float solve_tridiagonal(float4 own, threadgroup float4* equations, uint i, uint n) {
  for (uint distance = 1; distance < n; distance *= 2) {
    equations[i] = own;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float4 before = float4(0.0f, 1.0f, 0.0f, 0.0f), after = before;  // unknowns that are zero
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
  return own.w / own.y;
}

}  // namespace metalbench
