// Weight normalisation writes what it has scaled back to where it comes from.
// tune: BUG = 1, 0
// value: rows = 8
// value: cols = 32
// buffer: weight float32 (rows, cols) normal
// buffer: y float32 (rows, cols) output
// dispatch: weight_norm threadgroups=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void weight_norm(device float* weight, device float* y, constant uint& cols,
                        uint row [[threadgroup_position_in_grid]],
                        uint t [[thread_position_in_threadgroup]]) {
  float w = weight[row * cols + t];
  float scaled = w * rsqrt(simd_sum(w * w));
  if (BUG) weight[row * cols + t] = scaled;  // bug: write-to-input
  y[row * cols + t] = scaled;
}
