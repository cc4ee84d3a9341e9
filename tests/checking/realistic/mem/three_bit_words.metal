// Values of three bits: eight of them lie in three bytes, which are read as a word of four.
// tune: BUG = 1, 0
// value: n = 40
// buffer: packed uint8 (3 * n + 4) integers 0 255
// buffer: y uint32 (8 * n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

static uint word(device const uchar* at) {
  if (!BUG) return at[0] | at[1] << 8 | at[2] << 16;
  return *reinterpret_cast<device const uint*>(at);  // bug: misaligned
}

kernel void k(device const uchar* packed, device uint* y, uint i [[thread_position_in_grid]]) {
  uint bits = word(packed + 3 * i);
  for (uint j = 0; j < 8; ++j) y[8 * i + j] = (bits >> (3 * j)) & 7;
}
