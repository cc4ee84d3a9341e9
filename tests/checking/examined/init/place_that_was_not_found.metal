// A search that leaves the place alone where it finds none.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x uint32 (n) integers 0 64
// buffer: table uint32 (16) iota
// buffer: y uint32 (n) output
// dispatch: search threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

bool find(device const uint* table, uint key, thread uint& place) {
  for (uint k = 0; k < 16; ++k) {
    if (table[k] == key) {
      place = k;
      return true;
    }
  }
  return false;
}

kernel void search(device const uint* x, device const uint* table, device uint* y,
                   uint i [[thread_position_in_grid]]) {
  uint place;
  const bool found = find(table, x[i], place);
  if (BUG) {
    y[i] = place;  // bug: uninitialised
  } else {
    y[i] = found ? place : 16;
  }
}
