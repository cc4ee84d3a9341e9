// A bias that need not be there, and is not.
// tune: BUG = 1, 0
// value: n = 32
// value: has_bias = 0
// buffer: x float32 (n) normal
// buffer: bias float32 (n) normal
// buffer: y float32 (n) output
// dispatch: add threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void add(device const float* x, device const float* bias, device float* y,
                constant uint& has_bias, uint i [[thread_position_in_grid]]) {
  device const float* addend = has_bias != 0 ? bias : nullptr;
  float sum = x[i];
  if (BUG || addend) {
    sum += addend[i];  // bug: wild-pointer
  }
  y[i] = sum;
}
