// Puzzle 8, ranks: how many elements of its block of 64 are less than this one.
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y uint32 (n) output
// dispatch: ranks  threadgroups=(ceil_div(n, 64))  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void ranks(device const float* x, device uint* y, constant uint& n,
                  uint i [[thread_position_in_grid]],
                  uint t [[thread_position_in_threadgroup]]) {
  threadgroup float block[64];
  float own = 0;
  if (i < n) {
    own = x[i];
    block[t] = own;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i < n) {
    uint count = min(64u, n - (i - t)), below = 0;
    for (uint j = 0; j < count; ++j) {
      below += block[j] < own ? 1 : 0;
    }
    y[i] = below;
  }
}
