// From one member of a threadgroup struct into the next.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

struct Both {
  float a[64];
  float b[64];
};

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  threadgroup Both both;
  both.a[t] = x[i];
  both.b[t] = 2 * x[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float first = both.a[t + BUG];  // bug: out-of-bounds
  y[i] = first + both.b[t];
}
