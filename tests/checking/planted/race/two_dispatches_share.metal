// Threads of the second dispatch read what their neighbours write.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n) output
// dispatch: k threadgroups=(4) threads=(64)
// dispatch: second threadgroups=(4) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void second(device float* y, uint i [[thread_position_in_grid]]) {
  y[i] += BUG ? y[i ^ 1] : 1;  // bug: race
}

kernel void k(device const float* x, device float* y, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  y[i] = x[i];
}
