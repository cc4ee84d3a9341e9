// x over the root mean square of its channels: LANES lanes of a SIMD-group have a pixel, for channels
// are few, and join their sums by shuffles. No threadgroup memory; x is read again from the cache.
// dispatch: rms_norm  threads_in_grid=(LANES * batch * height * width)  threads=(TG)
// tune: LANES = 8, 4, 16, 32
// tune: TG = 128, 64, 256
#include "metalbench/norm.h"
using namespace metal;
using namespace metalbench;

[[kernel]] void rms_norm(device const float* x, device float* y, constant uint& channels,
                         uint i [[thread_position_in_grid]]) {
  const Row<float> pixel = row_of(x, i / LANES, channels);
  const uint first = 4 * (i % LANES);
  float4 squares = 0.0f;
  for (uint channel = first; channel < channels; channel += 4 * LANES) {
    const float4 v = pixel(channel);
    squares = fma(v, v, squares);
  }
  float sum = total(squares);
  for (ushort step = LANES / 2; step > 0; step /= 2) {
    sum += simd_shuffle_xor(sum, step);
  }
  const float scale = RootMeanSquare{1e-5f}.scale(sum, channels);
  device float* to = y + ulong(i / LANES) * channels;
  for (uint channel = first; channel < channels; channel += 4 * LANES) {
    store_quad(to, channel, channels, pixel(channel) * scale);
  }
}
