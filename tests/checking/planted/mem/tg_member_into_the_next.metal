// A pointer to an array of a struct in threadgroup memory goes on into the next one.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

struct Both {
  float first[64];
  float second[64];
};

kernel void k(device const float* x, device float* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup Both both;
  both.second[t] = 0;
  threadgroup float* p = both.first;
  p += t + BUG;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  *p = x[t];  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = both.second[t];
}
