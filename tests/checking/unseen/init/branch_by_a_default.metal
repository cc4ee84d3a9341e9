// A switch has no default, and its result is asked about.
// tune: BUG = 1, 0
// value: n = 32
// buffer: mode uint32 (n) integers 0 4
// buffer: y uint32 (n) output
// dispatch: choose threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void choose(device const uint* mode, device uint* y, uint i [[thread_position_in_grid]]) {
  uint weight;
  switch (mode[i]) {
    case 0: weight = 1; break;
    case 1: weight = 3; break;
    case 2: weight = 5; break;
    default: if (!BUG) weight = 0;
  }
  uint result = 7;
  if (weight > 2) result = 9;  // bug: uninitialised
  y[i] = result;
}
