// The largest of up to 256 numbers that the lanes of a SIMD-group hold, 8 each, one after the
// other: a round is a maximum over lanes and the lowest number that has it, whose lane drops it. So
// ties go to the lower number, without a sort. Numbers are held as integers of the same order, with
// NaN below all numbers, as where -x is sorted in ascending order. As many rounds as there are
// numbers find each of them once.
#pragma once
#include "metalbench/sort.h"

#include "metalbench/inlined.h"

namespace metalbench {

using namespace metal;

// The numbers of an array, for LaneTop::of().
template <typename T>
struct Logits {
  device const T* logits;
  float operator()(uint i) const { return float(logits[i]); }
};

struct LaneTop {
  static constant constexpr uint kHeld = 8;
  static constant constexpr uint kNone = 0;
  static constant constexpr uint kNaN = 1;
  uint held[kHeld];
  uint lane;

  // Number i is value(i), for i < count.
  template <typename Values>
  static LaneTop of(Values value, uint count, uint lane) {
    LaneTop top;
    top.lane = lane;
    UNROLLED
    for (uint i = 0; i < kHeld; ++i) {
      const bool is_there = lane + 32 * i < count;
      const uint key = is_there ? sort_key(value(lane + 32 * i)) : kNone;
      top.held[i] = key == 0xffffffffu ? kNaN : key;
    }
    return top;
  }

  // The i-th number that the lane holds; -inf where there is none.
  float number(uint i) const { return held[i] == kNone ? -INFINITY : number_of(held[i]); }
  static float number_of(uint key) { return of_sort_key(key == kNaN ? 0xffffffffu : key); }

  // The key of the largest number, for number_of() and drop().
  uint largest() const {
    uint best = held[0];
    UNROLLED
    for (uint i = 1; i < kHeld; ++i) {
      best = max(best, held[i]);
    }
    return simd_max(best);
  }

  // Which number is the largest; it is none from then on.
  uint drop(uint best) {
    uint first = 0xffffffffu;
    UNROLLED
    for (uint i = kHeld; i-- > 0;) {
      first = held[i] == best ? lane + 32 * i : first;
    }
    first = simd_min(first);
    UNROLLED
    for (uint i = 0; i < kHeld; ++i) {
      held[i] = lane + 32 * i == first ? kNone : held[i];
    }
    return first;
  }
};

}  // namespace metalbench
