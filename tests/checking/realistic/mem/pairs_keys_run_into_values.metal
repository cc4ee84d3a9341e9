// A struct of keys and values in threadgroup memory: one key too many.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x uint32 (n) integers 0 99
// buffer: y uint32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

struct Pairs {
  uint keys[64];
  uint values[64];
};

kernel void k(device const uint* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup Pairs pairs;
  pairs.values[t] = t;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  uint slot = BUG ? t + 1 : t;
  threadgroup uint* key = pairs.keys + slot;
  *key = x[t];  // bug: out-of-bounds
  threadgroup_barrier(mem_flags::mem_threadgroup);
  y[t] = (t < uint(BUG) ? 0 : pairs.keys[t]) + pairs.values[t];
}
