// A ring in threadgroup memory that wraps one place late.
// tune: BUG = 1, 0
// value: n = 96
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: delay threadgroups=(1) threads=(1)
#include <metal_stdlib>
using namespace metal;

kernel void delay(device const float* x, device float* y, constant uint& n) {
  threadgroup float ring[12];
  for (uint k = 0; k < 12; ++k) ring[k] = 0;
  uint head = 0;
  for (uint i = 0; i < n; ++i) {
    y[i] = ring[head];  // bug: out-of-bounds
    if (head < 12) ring[head] = x[i];
    ++head;
    if (BUG ? head > 12 : head >= 12) head = 0;
  }
}
