// Rows without work go on to the next turn, past the barrier.
// tune: BUG = 1, 0
// value: rows = 64
// buffer: length uint32 (rows) integers 0 3
// buffer: y uint32 (rows) output
// dispatch: work threadgroups=(1) threads=(rows)
#include <metal_stdlib>
using namespace metal;

kernel void work(device const uint* length, device uint* y,
                 uint t [[thread_position_in_threadgroup]]) {
  threadgroup uint s[64];
  uint sum = 0;
  s[t] = 0;
  for (uint turn = 0; turn < 3; ++turn) {
    if (BUG && turn >= length[t]) continue;
    s[t] = turn;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // bug: barrier
    sum += s[t];
  }
  y[t] = sum;
}
