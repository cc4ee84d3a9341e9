// A table of four in a vector, asked for with three bits.
// tune: BUG = 1, 0
// value: n = 64
// buffer: codes uint32 (n) integers 0 255
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uint* codes, device float* y, uint i [[thread_position_in_grid]]) {
  float4 levels = float4(-1, -0.25f, 0.25f, 1);
  uint code = codes[i] & (BUG ? 7u : 3u);
  y[i] = levels[code];  // bug: out-of-bounds
}
