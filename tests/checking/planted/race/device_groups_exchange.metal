// Threadgroups exchange sums in one dispatch without a fence.
// tune: BUG = 1, 0
// value: n = 256
// buffer: x float32 (n) normal
// buffer: y float32 (n / 64) output
// buffer: z float32 (n) output
// dispatch: k threadgroups=(ceil_div(n, 64)) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float* x, device float* y, device float* z, constant uint& n,
              uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]],
              uint g [[threadgroup_position_in_grid]]) {
  if (t == 0) y[g] = x[i];
  threadgroup_barrier(mem_flags::mem_device);
  uint other = BUG ? (g + 1) % (n / 64) : g;
  z[i] = y[other];  // bug: race
}
