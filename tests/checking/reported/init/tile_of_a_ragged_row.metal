// A tile is loaded as far as the row goes, and multiplied as a whole.
// tune: BUG = 1, 0
// value: cols = 20
// buffer: a float32 (cols) normal
// buffer: b float32 (32) normal
// buffer: y float32 (1) output
// dispatch: dot_row threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void dot_row(device const float* a, device const float* b, device float* y,
                    constant uint& cols, uint t [[thread_position_in_threadgroup]]) {
  threadgroup float tile[32];
  if (t < cols) tile[t] = a[t];
  else if (!BUG) tile[t] = 0;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = simd_sum(tile[31 - t] * b[31 - t]);  // bug: uninitialised
  if (t == 0) y[0] = sum;
}
