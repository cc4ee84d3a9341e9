// The lanes before the first one have a value only where the row is not the first.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: differ threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void differ(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float before, own;
  if (!BUG || i >= 32) before = i < 32 ? 0 : x[i - 1];
  if (i % 32 < 31) own = x[i];  // the last lane has none
  float left = simd_shuffle_and_fill_up(own, before, 1);
  y[i] = x[i] - left;  // bug: uninitialised
}
