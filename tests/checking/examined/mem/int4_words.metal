// Four-bit weights, of which a word holds eight and not four.
// tune: BUG = 1, 0
// value: n = 512
// buffer: packed uint32 (64) integers 0 2147483647
// buffer: scales float32 (16) uniform 0.5 1.5
// buffer: y float32 (n) output
// dispatch: dequantise threads_in_grid=(n) threads=(128)
#include <metal_stdlib>
using namespace metal;

inline float dequantised(uint word, uint at, float scale) {
  return scale * (int((word >> (4 * at)) & 15u) - 8);
}

kernel void dequantise(device const uint* packed, device const float* scales, device float* y,
                       uint i [[thread_position_in_grid]]) {
  const uint per_word = BUG ? 4 : 8;
  const uint word = packed[i / per_word];  // bug: out-of-bounds
  y[i] = dequantised(word, i % 8, scales[i / 32]);
}
