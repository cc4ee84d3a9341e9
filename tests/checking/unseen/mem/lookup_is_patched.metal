// A table that the kernel declares constant is patched through a cast.
// tune: BUG = 1, 0
// value: n = 16
// buffer: table uint32 (n) iota
// buffer: y uint32 (n) output
// dispatch: patch threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void patch(device const uint* table, device uint* y, uint i [[thread_position_in_grid]]) {
  if (BUG && i == 0) ((device uint*)ulong(table))[0] = 7;  // bug: write-to-constant
  y[i] = table[i] + 1;
}
