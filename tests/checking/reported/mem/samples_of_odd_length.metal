// The norm of a batch of samples of odd length, by twos, as reported of apache/mahout#1107.
// tune: BUG = 1, 0
// value: samples = 4
// value: length = 15
// buffer: batch float32 (samples, length) normal
// buffer: norm float32 (samples) output
// dispatch: l2_norm threads_in_grid=(samples) threads=(4)
#include <metal_stdlib>
using namespace metal;

kernel void l2_norm(device const float* batch, device float* norm, constant uint& length,
                    uint i [[thread_position_in_grid]]) {
  device const float* own = batch + i * length;
  float sum = 0;
  for (uint k = 0; k < length / 2; ++k) {
    float2 v;
    if (BUG) v = ((device const float2*)own)[k];  // bug: misaligned
    else v = float2(own[2 * k], own[2 * k + 1]);
    sum += dot(v, v);
  }
  float last = own[length - 1];
  norm[i] = sqrt(sum + last * last);
}
