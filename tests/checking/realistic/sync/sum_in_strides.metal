// A sum in strides of the group with a barrier in a loop that not all run as often.
// tune: BUG = 1, 0
// value: n = 100
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: k threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, constant uint& n,
              uint t [[thread_position_in_threadgroup]]) {
  threadgroup float s[64];
  s[t] = 0;
  uint end = BUG ? n : 128;
  for (uint i = t; i < end; i += 64) {
    if (i < n) s[t] += x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
  if (t == 0) {
    float sum = 0;
    for (uint j = 0; j < 64; ++j) sum += s[j];
    y[0] = sum;
  }
}
