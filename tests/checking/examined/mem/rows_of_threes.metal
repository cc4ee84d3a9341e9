// Rows of three floats that are read as float4.
// tune: BUG = 1, 0
// value: n = 20
// buffer: x float32 (64) normal
// buffer: y float32 (n) output
// dispatch: lengths threads_in_grid=(n) threads=(20)
#include <metal_stdlib>
using namespace metal;

inline float3 row_of(device const float* x, uint i) {
  if (BUG) {
    return (*(device const float4*)(x + 3 * i)).xyz;  // bug: misaligned
  }
  return float3(((device const packed_float3*)x)[i]);
}

kernel void lengths(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = length(row_of(x, i));
}
