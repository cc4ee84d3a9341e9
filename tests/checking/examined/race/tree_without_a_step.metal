// A tree of sums that trusts SIMD-groups to be in step down to 32.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (1) output
// dispatch: total threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void total(device const float* x, device float* y,
                  uint t [[thread_position_in_threadgroup]]) {
  threadgroup float part[256];
  part[t] = x[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  for (uint half_ = 128; half_ > 0; half_ /= 2) {
    float sum = part[t];
    if (t < half_) sum += part[t + half_];  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t < half_) part[t] = sum;
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  if (t == 0) y[0] = part[0];
}
