// A butterfly within a loop over a row, whose last turn some lanes do not take.
// tune: BUG = 1, 0
// value: rows = 3
// value: cols = 80
// buffer: x float32 (rows, cols) normal
// buffer: y float32 (rows) output
// dispatch: sum_rows threadgroups=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void sum_rows(device const float* x, device float* y, constant uint& cols,
                     uint row [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  float sum = 0;
  for (uint k = lane; k < (BUG ? cols : 96); k += 32) {
    float v = k < cols ? x[row * cols + k] : 0;
    for (ushort d = 16; d > 0; d /= 2) v += simd_shuffle_xor(v, d);  // bug: simdgroup
    sum += v;
  }
  if (lane == 0) y[row] = sum;
}
