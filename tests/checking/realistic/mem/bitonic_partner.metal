// A step of a bitonic sort of a number of keys that is not a power of two.
// tune: BUG = 1, 0
// value: n = 200
// buffer: keys uint32 (n) integers 0 1000 inout
// dispatch: k threads_in_grid=(256) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint* keys, constant uint& n, uint i [[thread_position_in_grid]]) {
  uint partner = i ^ 8;
  if (i >= n || partner < i) return;
  if (!BUG && partner >= n) return;
  uint low = keys[i];
  uint high = keys[partner];  // bug: out-of-bounds
  if (low > high) {
    keys[i] = high;
    if (partner < n) keys[partner] = low;
  }
}
