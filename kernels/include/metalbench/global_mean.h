// The mean over all pixels of an image, channel by channel.
#pragma once
#include "metalbench/quads.h"

namespace metalbench {

// Of four channels, by one SIMD-group whose lanes take every 32nd pixel; all lanes have the result.
inline float4 global_mean(device const float* pixels, uint count, uint channel, uint channels,
                          uint lane) {
  float4 sum = 0.0f;
  for (uint p = lane; p < count; p += 32) {
    sum += load_quad(pixels + ulong(p) * channels, channel, channels);
  }
  return float4(simd_sum(sum.x), simd_sum(sum.y), simd_sum(sum.z), simd_sum(sum.w)) / float(count);
}

}  // namespace metalbench
