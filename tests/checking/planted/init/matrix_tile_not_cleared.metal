// A product is summed up in a matrix that nothing has cleared.
// tune: BUG = 1, 0
// value: m = 16
// buffer: a float32 (m, m) normal
// buffer: b float32 (m, m) normal
// buffer: c float32 (m, m) output
// dispatch: product threadgroups=(2, 2) threads=(32)
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float* a, device const float* b, device float* c,
                    constant uint& m, uint2 t [[threadgroup_position_in_grid]]) {
  simdgroup_float8x8 acc;
  if (!BUG) acc = make_filled_simdgroup_matrix<float, 8>(0.0f);
  for (uint k = 0; k < m; k += 8) {
    simdgroup_float8x8 x, y;
    simdgroup_load(x, a + t.y * 8 * m + k, m);
    simdgroup_load(y, b + k * m + t.x * 8, m);
    simdgroup_multiply_accumulate(acc, x, y, acc);
  }
  simdgroup_store(acc, c + t.y * 8 * m + t.x * 8, m);  // bug: uninitialised
}
