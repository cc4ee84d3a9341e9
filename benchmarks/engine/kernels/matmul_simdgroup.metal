// 64 x 64 of C a threadgroup of four SIMD-groups, 32 x 32 each as 8 x 8 matrices, straight from
// device memory.
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant constexpr uint N = 1024;

kernel void matmul_simdgroup(device const float* a, device const float* b, device float* c,
                             uint2 group [[threadgroup_position_in_grid]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group.y * 64 + simdgroup / 2 * 32;
  const uint column = group.x * 64 + simdgroup % 2 * 32;
  simdgroup_float8x8 sums[4][4];
  for (uint i = 0; i < 4; ++i) {
    for (uint j = 0; j < 4; ++j) sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
  }
  for (uint k = 0; k < N; k += 8) {
    simdgroup_float8x8 left[4], right[4];
    for (uint i = 0; i < 4; ++i) simdgroup_load(left[i], a + (row + 8 * i) * N + k, N);
    for (uint j = 0; j < 4; ++j) simdgroup_load(right[j], b + k * N + column + 8 * j, N);
    for (uint i = 0; i < 4; ++i) {
      for (uint j = 0; j < 4; ++j) {
        simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
      }
    }
  }
  for (uint i = 0; i < 4; ++i) {
    for (uint j = 0; j < 4; ++j) {
      simdgroup_store(sums[i][j], c + (row + 8 * i) * N + column + 8 * j, N);
    }
  }
}
