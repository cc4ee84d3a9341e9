// Normal numbers as bytes.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y uint32 (n) output
// dispatch: bytes threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

inline uchar to_byte(float value) {
  if (!BUG) value = saturate(value);
  return uchar(value * 255.0f);  // bug: float-cast
}

kernel void bytes(device const float* x, device uint* y, uint i [[thread_position_in_grid]]) {
  y[i] = to_byte(x[i]);
}
