// A row is kept behind one float for each SIMD-group, and read by fours, as reported of flashinfer-ai/flashinfer#634.
// tune: BUG = 1, 0
// value: rows = 3
// value: cols = 256
// buffer: x float32 (rows, cols) normal
// buffer: y float32 (rows, cols) output
// dispatch: rms_norm threadgroups=(rows) threads=(64)
#include <metal_stdlib>
using namespace metal;

kernel void rms_norm(device const float4* x, device float4* y, constant uint& cols,
                     uint row [[threadgroup_position_in_grid]],
                     uint t [[thread_position_in_threadgroup]],
                     uint lane [[thread_index_in_simdgroup]],
                     uint simd [[simdgroup_index_in_threadgroup]]) {
  threadgroup float4 memory[66];
  threadgroup float* partials = (threadgroup float*)memory;
  threadgroup float4* kept = (threadgroup float4*)(partials + (BUG ? 2 : 4));
  float4 v = x[row * cols / 4 + t];
  kept[t] = v;  // bug: misaligned
  float sum = simd_sum(dot(v, v));
  if (lane == 0) partials[simd] = sum;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float scale = rsqrt((partials[0] + partials[1]) / cols);
  y[row * cols / 4 + t] = kept[t] * scale;
}
