// A sum that has wrapped to the least number is divided by a weight of -1.
// tune: BUG = 1, 0
// value: n = 8
// buffer: x int32 (n) integers -2147483648 -2147483647
// buffer: y int32 (n) output
// dispatch: weigh threads_in_grid=(n) threads=(8)
#include <metal_stdlib>
using namespace metal;

kernel void weigh(device const int* x, device int* y, uint i [[thread_position_in_grid]]) {
  int weight = BUG ? -1 : -2;
  y[i] = x[i] % weight + x[i] / weight;  // bug: overflow
}
