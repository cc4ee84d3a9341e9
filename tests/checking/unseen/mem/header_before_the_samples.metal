// Samples of four floats begin behind a header of three words.
// tune: BUG = 1, 0
// value: n = 8
// buffer: packet uint32 (40) integers 0 1000
// buffer: y uint32 (n) output
// dispatch: unpack threads_in_grid=(n) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void unpack(device const uint* packet, device uint* y, uint i [[thread_position_in_grid]]) {
  device const uint* samples = packet + (BUG ? 3 : 4);
  uint4 v = *(device const uint4*)(samples + 4 * i);  // bug: misaligned
  y[i] = v.x + v.y + v.z + v.w;
}
