// The largest of up to 256 numbers that the lanes of a SIMD-group hold, 8 each, one after the
// other: a round is a maximum over lanes and the lowest number that has it, whose lane drops it. So
// ties go to the lower number, without a sort.
#pragma once
#include <metal_stdlib>

namespace metalbench {

using namespace metal;

struct LaneTop {
  static constant constexpr uint kHeld = 8;
  float held[kHeld];
  uint lane;

  // Number i is value(i), for i < count.
  template <typename Values>
  static LaneTop of(Values value, uint count, uint lane) {
    LaneTop top;
    top.lane = lane;
    for (uint i = 0; i < kHeld; ++i) {
      top.held[i] = lane + 32 * i < count ? value(lane + 32 * i) : -INFINITY;
    }
    return top;
  }

  float largest() const {
    float best = held[0];
    for (uint i = 1; i < kHeld; ++i) {
      best = max(best, held[i]);
    }
    return simd_max(best);
  }

  // Which number is the largest; it is -inf from then on.
  uint drop(float best) {
    uint first = 0xffffffffu;
    for (uint i = kHeld; i-- > 0;) {
      first = held[i] == best ? lane + 32 * i : first;
    }
    first = simd_min(first);
    for (uint i = 0; i < kHeld; ++i) {
      held[i] = lane + 32 * i == first ? -INFINITY : held[i];
    }
    return first;
  }
};

}  // namespace metalbench
