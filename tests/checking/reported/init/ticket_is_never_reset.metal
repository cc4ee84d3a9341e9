// Groups draw numbers from a counter in scratch memory that is never set to zero.
// tune: BUG = 1, 0
// value: groups = 4
// buffer: x float32 (groups, 32) normal
// buffer: y float32 (groups, 32) zeros inout
// scratch: ticket uint32 (1)
// dispatch: clear threads_in_grid=(1) threads=(1)
// dispatch: work threadgroups=(groups) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void clear(device uint* ticket) {
  if (!BUG) ticket[0] = 0;
}

kernel void work(device const float* x, device float* y, device atomic_uint* ticket,
                 constant uint& groups, uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint mine;
  if (t == 0) mine = atomic_fetch_add_explicit(ticket, 1u, memory_order_relaxed);  // bug: uninitialised
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (mine < groups) y[mine * 32 + t] = 2 * x[mine * 32 + t];
}
