// Of two tiles in turn the wrong one is loaded before the loop.
// tune: BUG = 1, 0
// value: n = 128
// buffer: x float32 (n) normal
// buffer: y float32 (32) output
// dispatch: pipeline threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void pipeline(device const float* x, device float* y, constant uint& n,
                     uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[2][32];
  tile[BUG ? 1 : 0][t] = x[t];
  float sum = 0;
  for (uint k = 0; k < n / 32; ++k) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += tile[k % 2][31 - t];  // bug: uninitialised
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (k + 1 < n / 32) tile[(k + 1) % 2][t] = x[(k + 1) * 32 + t];
  }
  y[t] = sum;
}
