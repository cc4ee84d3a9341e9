// What scan.h needs to know of running extremes and of running logarithms of sums of exponentials.
// Lanes before a lane are joined by shuffles, twice as far each time, because Metal has prefix
// functions for sums and products alone.
#pragma once
#include "metalbench/gates.h"
#include "metalbench/scan.h"

namespace metalbench {

template <typename Op>
inline float joined_before(Op op, float value, uint lane) {
  UNROLLED
  for (ushort step = 1; step < 32; step *= 2) {
    const float other = simd_shuffle_up(value, step);
    value = lane >= step ? op.join(other, value) : value;
  }
  const float before = simd_shuffle_up(value, ushort(1));
  return lane == 0 ? op.neutral() : before;
}

struct RunningMax {
  uint lane;
  float neutral() const { return -INFINITY; }
  template <typename T>
  T join(T a, T b) const {
    return max(a, b);
  }
  float of_lanes_before(float value) const { return joined_before(*this, value, lane); }
};

struct RunningMin {
  uint lane;
  float neutral() const { return INFINITY; }
  template <typename T>
  T join(T a, T b) const {
    return min(a, b);
  }
  float of_lanes_before(float value) const { return joined_before(*this, value, lane); }
};

struct RunningLogSumExp {
  uint lane;
  float neutral() const { return -INFINITY; }
  template <typename T>
  T join(T a, T b) const {
    return LogAddExp()(a, b);
  }
  float of_lanes_before(float value) const { return joined_before(*this, value, lane); }
};

}  // namespace metalbench
