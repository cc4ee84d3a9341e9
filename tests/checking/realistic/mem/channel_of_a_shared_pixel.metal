// Pixels as vectors in threadgroup memory, and a channel by number of which there are four.
// tune: BUG = 1, 0
// value: n = 64
// buffer: pixels float32 (n, 4) normal
// buffer: channels int32 (n) integers 0 5
// buffer: y float32 (n) output
// dispatch: k threadgroups=(1) threads=(n)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4* pixels, device const int* channels, device float* y,
              uint t [[thread_position_in_threadgroup]]) {
  threadgroup float4 tile[64];
  tile[t] = pixels[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  int channel = BUG ? channels[t] : min(channels[t], 3);
  y[t] = tile[63 - t][channel];  // bug: out-of-bounds
}
