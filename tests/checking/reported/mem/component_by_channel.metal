// The channel that comes with the pixel is a component of a vector of three.
// tune: BUG = 1, 0
// value: n = 64
// buffer: rgb float32 (n, 3) uniform
// buffer: channel uint32 (n) integers 0 4
// buffer: y float32 (n) output
// dispatch: pick threads_in_grid=(n) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void pick(device const packed_float3* rgb, device const uint* channel, device float* y,
                 uint i [[thread_position_in_grid]]) {
  float3 colour = float3(rgb[i]);
  uint c = BUG ? channel[i] : channel[i] % 3;
  y[i] = colour[c];  // bug: out-of-bounds
}
