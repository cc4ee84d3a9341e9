// A barrier for device memory, where threadgroup memory is exchanged.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: reverse threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const float* x, device float* y,
                    uint t [[thread_position_in_threadgroup]]) {
  threadgroup float turned[64];
  turned[63 - t] = x[t];
  threadgroup_barrier(BUG ? mem_flags::mem_device : mem_flags::mem_threadgroup);
  y[t] = turned[t];  // bug: race
}
