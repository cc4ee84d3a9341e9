// The largest with its place: the place is forgotten, and the pair is copied.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y uint32 (1) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

struct Best {
  float value;
  uint place;
};

kernel void k(device const float* x, device uint* y, uint t [[thread_position_in_threadgroup]]) {
  threadgroup Best best[64];
  best[t].value = x[t];
  if (!BUG) best[t].place = t;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t != 0) return;
  Best top = best[0];
  for (uint j = 1; j < 64; ++j) {
    Best other = best[j];  // bug: uninitialised
    if (other.value > top.value) top = other;
  }
  y[0] = top.place;
}
