// Norms of groups of neighbouring columns of a row, many and short: Lanes neighbouring lanes have a
// group, so that a SIMD-group has 32 / Lanes of them side by side. Their elements are read again
// for each step, from the cache. Needs `threads_in_grid=(rows * groups * Lanes)`, of which the last
// may have no group.
#pragma once
#include <metal_stdlib>

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

template <uint Lanes>
inline float sum_of_lanes(float value) {
  UNROLLED
  for (ushort step = 1; step < Lanes; step *= 2) {
    value += simd_shuffle_xor(value, step);
  }
  return value;
}

// A group of `size` elements from `from` on, and one lane's part of it. The mean of the deviations,
// zero but for rounding, corrects mean and variance.
template <uint Lanes>
struct GroupOfColumns {
  device const float* from;
  uint size;
  uint lane;
  float mean;
  float drift;
  float scale;

  static GroupOfColumns of(device const float* from, uint size, float eps, uint thread_index) {
    GroupOfColumns group = {from, size, thread_index % Lanes, 0.0f, 0.0f, 1.0f};
    float sum = 0.0f;
    for (uint i = group.lane; i < size; i += Lanes) {
      sum += from[i];
    }
    group.mean = sum_of_lanes<Lanes>(sum) / float(size);
    float drift = 0.0f;
    float squares = 0.0f;
    for (uint i = group.lane; i < size; i += Lanes) {
      const float d = from[i] - group.mean;
      drift += d;
      squares = fma(d, d, squares);
    }
    group.drift = sum_of_lanes<Lanes>(drift) / float(size);
    const float variance = sum_of_lanes<Lanes>(squares) / float(size) - group.drift * group.drift;
    group.scale = precise::rsqrt(variance + eps);
    return group;
  }

  float operator()(uint i) const { return ((from[i] - mean) - drift) * scale; }
};

// What follows the norm: a weight and a bias for each column.
struct AffineColumn {
  device const float* weight;
  device const float* bias;
  float operator()(float v, uint column) const { return fma(v, weight[column], bias[column]); }
};

// y = map(normalised, column) for `count` groups, `groups` of them in a row; y may be x.
template <uint Lanes, typename Map>
inline void normalise_groups(Map map, device const float* x, device float* y, uint size,
                             uint groups, uint count, uint thread_index) {
  const uint index = thread_index / Lanes;
  const ulong start = ulong(index) * size;
  // Lanes without a group take part in the sums of others with no element.
  const uint own = index < count ? size : 0;
  const GroupOfColumns<Lanes> group =
      GroupOfColumns<Lanes>::of(x + start, own, 1e-5f, thread_index);
  for (uint i = group.lane; i < own; i += Lanes) {
    y[start + i] = map(group(i), index % groups * size + i);
  }
}

}  // namespace metalbench
