// A matrix of 4-bit numbers, eight in a word, with a scale and a bias for every 64 of a row; one row
// a SIMD-group.
#include <metal_stdlib>
using namespace metal;

constant constexpr uint COLS = 4096;
constant constexpr uint WORDS = COLS / 8;
constant constexpr uint GROUP = 64 / 8;  // words

kernel void quantized_matvec(device const uint* w, device const float* scales,
                             device const float* biases, device const float4* x, device float* y,
                             uint group [[threadgroup_position_in_grid]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simdgroup [[simdgroup_index_in_threadgroup]]) {
  const uint row = group * 8 + simdgroup;
  float sum = 0.0f;
  for (uint i = lane; i < WORDS; i += 32) {
    const uint word = w[row * WORDS + i];
    const float4 low = x[2 * i], high = x[2 * i + 1];
    const uint4 four = uint4(word, word >> 4, word >> 8, word >> 12);
    const float product = dot(float4(four & 15), low) + dot(float4((four >> 16) & 15), high);
    const float all = dot(float4(1.0f), low + high);
    const uint at = row * (WORDS / GROUP) + i / GROUP;
    sum += scales[at] * product + biases[at] * all;
  }
  sum = simd_sum(sum);
  if (lane == 0) y[row] = sum;
}
