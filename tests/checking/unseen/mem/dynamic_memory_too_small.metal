// The dispatch gives a threadgroup argument half of what the kernel uses.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: reverse threadgroups=(1) threads=(n) threadgroup_bytes=(s: 128 * (2 - BUG))
#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const float* x, device float* y, threadgroup float* s [[threadgroup(0)]],
                    uint t [[thread_position_in_threadgroup]]) {
  s[t] = x[t];  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = s[63 - t];
}
