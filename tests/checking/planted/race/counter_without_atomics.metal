// Threads count in threadgroup memory without atomics.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup uint hits;
  if (t == 0) hits = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (BUG || t == 0) {
    hits += 1 + (x[i] > 0);  // bug: race
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[i] = hits;
}
