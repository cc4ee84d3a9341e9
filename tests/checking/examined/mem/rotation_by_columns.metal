// The columns of a rotation, counted from one.
// tune: BUG = 1, 0
// value: n = 32
// buffer: x float32 (n, 3) normal
// buffer: y float32 (n, 3) output
// dispatch: rotate threads_in_grid=(n) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void rotate(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  const float angle = x[3 * i];
  const float3x3 turn(float3(cos(angle), sin(angle), 0), float3(-sin(angle), cos(angle), 0),
                      float3(0, 0, 1));
  float3 sum = 0;
  for (int column = 0; column < 3; ++column) {
    sum += turn[column + (BUG ? 1 : 0)] * x[3 * i + column];  // bug: out-of-bounds
  }
  for (int c = 0; c < 3; ++c) y[3 * i + c] = sum[c];
}
