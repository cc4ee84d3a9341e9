// Four-bit weights with a scale for each 32 of them: the scale of each 16 is taken.
// tune: BUG = 1, 0
// value: n = 512
// buffer: packed uint32 (ceil_div(n, 8)) integers 0 1000000
// buffer: scales float16 (ceil_div(n, 32)) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(2) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* packed, device const half* scales, device float* y,
              uint i [[thread_position_in_grid]]) {
  uint word = packed[i];
  uint first = i * 8;
  float scale = scales[first / (BUG ? 16 : 32)];  // bug: out-of-bounds
  for (uint j = 0; j < 8; ++j) y[first + j] = (float((word >> (4 * j)) & 15u) - 8.0f) * scale;
}
