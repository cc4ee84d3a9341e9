// Rows are scaled to bytes by their largest value, and one is all zeros.
// tune: BUG = 1, 0
// value: rows = 4
// buffer: x float32 (rows, 32) zeros
// buffer: y int32 (rows, 32) output
// dispatch: quantise threadgroups=(rows) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void quantise(device const float* x, device int* y, uint row [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
  float v = x[row * 32 + lane];
  float most = simd_max(fabs(v));
  float scale = 127.0f / (BUG ? most : max(most, 1e-6f));
  y[row * 32 + lane] = int(rint(v * scale));  // bug: float-cast
}
