// Squared distances of positions in a type of 32 bits.
// tune: BUG = 1, 0
// value: n = 16
// buffer: x int32 (n) integers 60000 70000
// buffer: y int32 (n) output
// dispatch: squares threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void squares(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
  int v = BUG ? x[i] : x[i] / 4;
  y[i] = v * v;  // bug: signed-overflow
}
