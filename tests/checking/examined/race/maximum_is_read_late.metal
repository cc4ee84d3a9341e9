// The maximum of a row is overwritten for the next row while some still read it.
// tune: BUG = 1, 0
// value: rows = 3
// buffer: x float32 (rows, 64) normal
// buffer: y float32 (rows, 64) output
// dispatch: shift threadgroups=(1) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void shift(device const float* x, device float* y, constant uint& rows,
                  uint t [[thread_position_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]],
                  uint group [[simdgroup_index_in_threadgroup]]) {
  threadgroup float best[2];
  for (uint row = 0; row < rows; ++row) {
    const float value = x[row * 64 + t];
    const float of_group = simd_max(value);
    if (lane == 0) best[group] = of_group;  // bug: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[row * 64 + t] = value - max(best[0], best[1]);
    if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  }
}
