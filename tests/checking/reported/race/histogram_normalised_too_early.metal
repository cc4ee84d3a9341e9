// Blocks are normalised while their sums are still being made, as fixed in opencv/opencv#5742.
// tune: BUG = 1, 0
// value: blocks = 8
// value: bins = 36
// buffer: hist float32 (blocks, bins) uniform
// buffer: out float32 (blocks, bins) output
// dispatch: normalise_blocks threadgroups=(blocks) threads=(36)
#include <metal_stdlib>
using namespace metal;

kernel void normalise_blocks(device const float* hist, device float* out, constant uint& bins,
                             uint b [[threadgroup_position_in_grid]],
                             uint t [[thread_position_in_threadgroup]]) {
  threadgroup float squares[36];
  threadgroup float norm;
  float v = hist[b * bins + t];
  squares[t] = v * v;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t == 0) {
    float sum = 0;
    for (uint k = 0; k < 36; ++k) sum += squares[k];
    norm = sqrt(sum) + 3.6f;
  }
  if (!BUG) threadgroup_barrier(mem_flags::mem_threadgroup);
  out[b * bins + t] = min(v / norm, 0.2f);  // bug: race
}
