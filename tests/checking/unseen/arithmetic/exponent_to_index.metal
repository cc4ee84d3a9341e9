// The logarithm of zero is an index.
// tune: BUG = 1, 0
// value: n = 16
// buffer: x float32 (n) zeros
// buffer: y int32 (n) output
// dispatch: octave threads_in_grid=(n) threads=(16)
#include <metal_stdlib>
using namespace metal;

kernel void octave(device const float* x, device int* y, uint i [[thread_position_in_grid]]) {
  float v = BUG ? x[i] : x[i] + 1;
  y[i] = int(floor(log2(v)));  // bug: float-cast
}
