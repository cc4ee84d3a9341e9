// An index of one buffer is meant to reach another one.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// buffer: z float32 (n) normal
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device const float* z, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  ulong away = ((device const char*)z - (device const char*)x) / 4;
  y[i] = x[BUG ? i + away : i];  // bug: out-of-bounds
}
