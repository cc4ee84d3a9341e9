// A bitonic step over a length that is not a power of two.
// tune: BUG = 1, 0
// value: n = 100
// buffer: keys uint32 (n) integers 0 1000 inout
// dispatch: step threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void step(device uint* keys, constant uint& n, uint i [[thread_position_in_grid]]) {
  const uint distance = 16;
  const uint partner = i ^ distance;
  if (partner > i && (BUG || partner < n)) {
    const uint mine = keys[i];
    const uint other = keys[partner];  // bug: out-of-bounds
    if (mine > other && partner < n) {
      keys[i] = other;
      keys[partner] = mine;
    }
  }
}
