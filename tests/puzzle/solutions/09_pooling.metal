// Puzzle 9, pooling: y[i] is the largest of x[i - 2] to x[i + 2], as far as there are such.
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: pooling  threadgroups=(ceil_div(n, 64))  threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void pooling(device const float* x, device float* y, constant uint& n,
                    uint i [[thread_position_in_grid]],
                    uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[68];
  float own = i < n ? x[i] : -INFINITY;
  tile[t + 2] = own;
  if (t < 2) {
    tile[t] = i >= 2 ? x[i - 2] : -INFINITY;
  }
  if (t >= 62) {
    tile[t + 4] = i + 2 < n ? x[i + 2] : -INFINITY;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (i < n) {
    y[i] = max(max(max(tile[t], tile[t + 1]), max(tile[t + 3], tile[t + 4])), own);
  }
}
