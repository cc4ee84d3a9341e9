// Gate and value lie in one row, and the value begins where no vector may, as reported of flashinfer-ai/flashinfer#5013.
// tune: BUG = 1, 0
// value: rows = 5
// value: d = 30
// value: quads = 7
// buffer: x float32 (rows, 2 * d) normal
// buffer: y float32 (rows, d) zeros inout
// dispatch: silu_and_mul threads_in_grid=(quads, rows) threads=(7, 1)
#include <metal_stdlib>
using namespace metal;

kernel void silu_and_mul(device const float* x, device float* y, constant uint& d,
                         uint2 at [[thread_position_in_grid]]) {
  device const float* row = x + at.y * 2 * d;
  device const float* value = row + d;
  float4 gate = float4(row[4 * at.x], row[4 * at.x + 1], row[4 * at.x + 2], row[4 * at.x + 3]);
  float4 v;
  if (BUG) v = ((device const float4*)value)[at.x];  // bug: misaligned
  else v = float4(((device const packed_float4*)value)[at.x]);
  float4 result = gate / (1 + exp(-gate)) * v;
  for (uint k = 0; k < 4; ++k) y[at.y * d + 4 * at.x + k] = result[k];
}
