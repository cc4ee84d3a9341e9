// A list's nodes name the next one, and the last names a number that none has.
// tune: BUG = 1, 0
// value: n = 16
// buffer: next uint32 (n) iota
// buffer: y uint32 (n) output
// dispatch: follow threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void follow(device const uint* next, device uint* y, uint i [[thread_position_in_grid]]) {
  uint at = i == 15 ? 0xffffffffu : next[i];
  if (!BUG && at == 0xffffffffu) {
    y[i] = 0;
    return;
  }
  y[i] = next[at];  // bug: wild-pointer
}
