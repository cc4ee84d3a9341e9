// An average over windows of integers, of which some are empty.
// tune: BUG = 1, 0
// value: n = 64
// buffer: counts int32 (n) integers 0 4
// buffer: x int32 (n) integers 0 99
// buffer: y int32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* counts, device const int* x, device int* y,
              uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int j = 0; j < counts[i]; ++j) sum += x[(i + j) % 64];
  if (!BUG && counts[i] == 0) y[i] = 0;
  else y[i] = sum / counts[i];  // bug: division
}
