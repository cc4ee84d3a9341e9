// The rest of a code that begins with a word is what a shift by all its bits leaves.
// tune: BUG = 1, 0
// value: n = 64
// buffer: words uint32 (65) integers 0 1000000
// buffer: y uint32 (n) output
// dispatch: unpack threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void unpack(device const uint* words, device uint* y, uint i [[thread_position_in_grid]]) {
  uint bit = i * 5, word = bit / 32, used = bit % 32;
  uint low = words[word] >> used;
  uint high = 0;
  if (BUG || used != 0) high = words[word + 1] << (32 - used);  // bug: shift
  y[i] = (low | high) & 31;
}
