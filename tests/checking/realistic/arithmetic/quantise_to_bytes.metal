// A quantisation to signed bytes that does not clamp.
// tune: BUG = 1, 0
// value: n = 64
// buffer: x float32 (n) normal
// buffer: y int32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device int* y, uint i [[thread_position_in_grid]]) {
  float scaled = rint(x[i] * 127);
  if (!BUG) scaled = clamp(scaled, -128.0f, 127.0f);
  char small = char(scaled);  // bug: float-cast
  y[i] = small;
}
