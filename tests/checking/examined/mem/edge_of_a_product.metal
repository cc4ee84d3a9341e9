// A tile of a product is stored whole where the matrix ends.
// tune: BUG = 1, 0
// value: n = 12
// buffer: a float32 (16, 16) normal
// buffer: c float32 (12, 12) output
// dispatch: product threadgroups=(1) threads=(32)
#include <metal_stdlib>
using namespace metal;

kernel void product(device const float* a, device float* c,
                    uint lane [[thread_index_in_simdgroup]]) {
  simdgroup_float8x8 left, right, sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  threadgroup float tile[64];
  for (uint row = 0; row < 12; row += 8) {
    for (uint column = 0; column < 12; column += 8) {
      simdgroup_load(left, a + row * 16, 16);
      simdgroup_load(right, a + column, 16);
      simdgroup_multiply(sum, left, right);
      if (BUG) {
        simdgroup_store(sum, c + row * 12 + column, 12);  // bug: out-of-bounds
      } else {
        simdgroup_store(sum, tile, 8);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint at = lane; at < 64; at += 32) {
          const uint y = row + at / 8, x = column + at % 8;
          if (y < 12 && x < 12) c[y * 12 + x] = tile[at];
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
      }
    }
  }
}
