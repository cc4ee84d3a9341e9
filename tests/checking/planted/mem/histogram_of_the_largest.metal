// The largest value has no bin.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) uniform 0.95 0.999
// buffer: bins uint32 (16) zeros inout
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device atomic_uint* bins, constant uint& n,
              uint i [[thread_position_in_grid]]) {
  uint bin = uint(x[i] * (16 + BUG));
  atomic_fetch_add_explicit(&bins[bin], 1u, memory_order_relaxed);  // bug: out-of-bounds
}
