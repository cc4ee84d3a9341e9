// The rest of a row's number by a count of columns that came from data.
// tune: BUG = 1, 0
// value: n = 64
// buffer: shape int32 (2) zeros
// buffer: y int32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int* shape, device int* y, uint i [[thread_position_in_grid]]) {
  int columns = BUG ? shape[1] : shape[1] + 8;
  y[i] = int(i) % columns;  // bug: division
}
