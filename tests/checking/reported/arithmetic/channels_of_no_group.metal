// The number of a channel in its group, for a layer that says that it has no groups.
// tune: BUG = 1, 0
// value: n = 32
// buffer: groups uint32 (1) zeros
// buffer: y uint32 (n) output
// dispatch: shuffle threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void shuffle(device const uint* groups, device uint* y, uint i [[thread_position_in_grid]]) {
  uint g = BUG ? groups[0] : groups[0] + 1;
  y[i] = i % g;  // bug: division
}
