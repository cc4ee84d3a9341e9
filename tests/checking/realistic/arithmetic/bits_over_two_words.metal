// Values of three bits that lie over two words: the rest is shifted by a whole word.
// tune: BUG = 1, 0
// value: n = 64
// buffer: words uint32 (8) integers 0 1000000
// buffer: y uint32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* words, device uint* y, uint i [[thread_position_in_grid]]) {
  uint bit = i * 3;
  uint at = bit / 32, from = bit % 32;
  uint value = words[at] >> from;
  if (BUG || from > 29) value |= words[at + 1] << (32 - from);  // bug: shift
  y[i] = value & 7;
}
