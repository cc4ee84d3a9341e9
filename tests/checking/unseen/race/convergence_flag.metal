// Every thread that has not converged clears the group's flag.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y uint32 (n) output
// dispatch: converged threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void converged(device const float* x, device uint* y,
                      uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint flag;
  if (t == 0) flag = 1;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (fabs(x[t]) > 0.1f) {
    if (BUG) flag = 0;  // bug: same-value-race
    else atomic_store_explicit((threadgroup atomic_uint*)&flag, 0u, memory_order_relaxed);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = flag;
}
