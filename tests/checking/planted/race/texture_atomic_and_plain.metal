// A texel is counted up by atomics, and read without.
// tune: BUG = 1, 0
// value: n = 64
// texture: t r32uint (4) zeros inout
// buffer: y uint32 (n) output
// dispatch: k threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(texture1d<uint, access::read_write> t, device uint* y,
              uint i [[thread_position_in_grid]]) {
  t.atomic_fetch_add(i % 4, uint4(1));
  if (BUG) y[i] = t.read(i % 4).x;  // bug: race
  else y[i] = t.atomic_load(i % 4).x;
}
