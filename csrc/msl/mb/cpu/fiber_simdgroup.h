// Functions of SIMD-groups between fibers: every lane passes its operand; one combine call computes
// all results.
#pragma once

#include "../simdgroup_operations.h"
#include "lane_shadow.h"

namespace mb {

// Reduction of each part of `size` lanes.
template <class T, class Op, u32 size>
struct Reduction {
  T value;

  // A tree over the lanes, so that the order does not depend on the lane that arrives last.
  MB_COMBINE static void combine(void* const* operand, u32 mask) {
    const LaneShadows<T> shadows(operand, mask);
    Lanes<T> lanes(operand, mask, Op::template identity<T>());
    for (T* part = lanes.value; part != lanes.value + simd_width; part += size) {
      for (u32 width = size / 2; width; width /= 2) {
        for (u32 i = 0; i < width; ++i) part[i] = Op::of(part[i], part[i + width]);
      }
      for (u32 i = 1; i < size; ++i) part[i] = part[0];
    }
    scatter(operand, mask, lanes.value);
    shadows.template join<size>();
  }

  template <bool inclusive>
  MB_COMBINE static void scan(void* const* operand, u32 mask) {
    const LaneShadows<T> shadows(operand, mask);
    Lanes<T> lanes(operand, mask, Op::template identity<T>());
    T running = Op::template identity<T>();
    for (u32 i = 0; i < simd_width; ++i) {
      if (i % size == 0) running = Op::template identity<T>();
      T before = running;
      running = Op::of(running, lanes.value[i]);
      lanes.value[i] = inclusive ? running : before;
    }
    scatter(operand, mask, lanes.value);
    shadows.template run<size, inclusive>();
  }
};

template <u32 size, class Op, class T>
MB_FUNC T reduce(T x) {
  Reduction<T, Op, size> operand{x};
  meet(&operand, Reduction<T, Op, size>::combine);
  return operand.value;
}

template <u32 size, class Op, bool inclusive, class T>
MB_FUNC T scan(T x) {
  Reduction<T, Op, size> operand{x};
  meet(&operand, Reduction<T, Op, size>::template scan<inclusive>);
  return operand.value;
}

// Report a lane whose result is undefined in Metal; `operand` is its own.
MB_UNTRACED inline void blame_lane(void* operand, const char* what) {
  Fiber* lane = fiber_of(reinterpret_cast<uptr>(operand));
  lane->bundle->group->runtime->fail(lane, what, lane->bundle->site[lane->lane]);
}

// Metal requires most of these arguments to be uniform in a SIMD-group, or quad.
template <class Operand, u32 size>
MB_COMBINE void expect_same(void* const* operand, u32 mask) {
  if constexpr (MB_CHECKED && size != 0) {
    u32 first = __builtin_ctz(mask);
    for (u32 i = first; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      if (first / size != i / size) first = i;
      const u32 wanted = static_cast<Operand*>(operand[first])->asked;
      if (static_cast<Operand*>(operand[i])->asked == wanted) continue;
      blame_lane(operand[i], "SIMD-group function: an argument that must be the same in all lanes is not");
    }
  }
}

// `asked` is the caller's own argument, which must be uniform in each part of `same` lanes; 0: need
// not.
template <class T, Move move, u32 same>
struct Shuffle {
  T value;
  u32 by, asked;

  MB_COMBINE static void combine(void* const* operand, u32 mask) {
    const LaneShadows<T> shadows(operand, mask);
    T result[simd_width];
    u32 source[simd_width];
    bool is_lost[simd_width];
    expect_same<Shuffle, same>(operand, mask);
    for (u32 i = 0; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      u32 from = source_lane<move>(i, static_cast<Shuffle*>(operand[i])->by, simd_width);
      // Beyond either end, up and down return a lane's own value.
      if ((move == Move::up || move == Move::down) && from >= simd_width) from = i;
      bool active = from < simd_width && (mask >> from & 1);
      // The value of an inactive lane is undefined. It is reported on use, or here in builds
      // without shadow memory; code that shifts values up or down often ignores those at the end.
      const bool exists = from < simd_width, is_end = move == Move::up || move == Move::down;
      if (MB_CHECKED && !active && !is_end && !(exists && mb_follows_lanes)) {
        blame_lane(operand[i], exists
                                   ? "SIMD-group function: reads the value of an inactive lane"
                                   : "SIMD-group function: reads the value of a lane that does not exist");
      }
      is_lost[i] = !active && exists;
      result[i] = active ? static_cast<Shuffle*>(operand[from])->value : T{};
      source[i] = active ? from : simd_width;
    }
    for (u32 i = 0; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      static_cast<Shuffle*>(operand[i])->value = result[i];
      if (source[i] < simd_width) shadows.move(i, source[i]);
      else if (is_lost[i]) shadows.lose(i);
    }
  }
};

template <u32 size, Move move, class T>
MB_FUNC T shuffle(T x, u32 by) {
  constexpr bool whole = size == simd_width;
  using Operand = Shuffle<T, whole ? move : Move::to, move == Move::to ? 0 : size>;
  Operand operand{x, whole ? by : source_in_part<size, move>(lane(), by), by};
  meet(&operand, Operand::combine);
  return operand.value;
}

// shuffle_and_fill: lanes that would read outside of their part of the SIMD-group read from `fill`.
template <class T, bool up>
struct Fill {
  T value, fill;
  u32 asked, modulo;

  MB_COMBINE static void combine(void* const* operand, u32 mask) {
    void* fills[simd_width] = {};
    for (u32 rest = mask; rest != 0; rest &= rest - 1) {
      const auto i = static_cast<u32>(__builtin_ctz(rest));
      fills[i] = &static_cast<Fill*>(operand[i])->fill;
    }
    const LaneShadows<T> shadows(operand, mask), filled(fills, mask);
    T result[simd_width];
    u32 source[simd_width];
    bool is_filled[simd_width];
    expect_same<Fill, simd_width>(operand, mask);
    for (u32 i = 0; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      auto* self = static_cast<Fill*>(operand[i]);
      u32 n = self->modulo, base = i & ~(n - 1), at = i & (n - 1);
      u32 moved = up ? at - self->asked : at + self->asked;
      bool inside = moved < n;
      u32 from = base + (moved & (n - 1));
      bool active = mask >> from & 1;
      auto* other = static_cast<Fill*>(operand[active ? from : i]);
      result[i] = !active ? T{} : inside ? other->value : other->fill;
      source[i] = active ? from : simd_width;
      is_filled[i] = !inside;
    }
    for (u32 i = 0; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      static_cast<Fill*>(operand[i])->value = result[i];
      if (source[i] < simd_width) shadows.move(i, is_filled[i] ? filled : shadows, source[i]);
      else shadows.lose(i);
    }
  }
};

template <bool up, class T>
MB_FUNC T shuffle_and_fill(T x, T fill, u32 by, u32 modulo) {
  Fill<T, up> operand{x, fill, by, modulo};
  meet(&operand, Fill<T, up>::combine);
  return operand.value;
}

// Masks of the active lanes with a true operand, and of all active lanes.
struct Ballot {
  u32 votes, active;

  MB_COMBINE static void combine(void* const* operand, u32 mask) {
    const LaneShadows<u32> shadows(operand, mask);
    u32 votes = 0;
    for (u32 i = 0; i < simd_width; ++i) {
      if (mask >> i & 1) votes |= (static_cast<Ballot*>(operand[i])->votes & 1) << i;
    }
    for (u32 i = 0; i < simd_width; ++i) {
      if (mask >> i & 1) *static_cast<Ballot*>(operand[i]) = Ballot{votes, mask};
    }
    shadows.vote();
  }
};

template <u32 size>
MB_FUNC Ballot ballot(bool vote) {
  Ballot operand{vote, 0};
  meet(&operand, Ballot::combine);
  if constexpr (size == simd_width) return operand;
  constexpr u32 all = (1ull << size) - 1;
  u32 base = lane() & ~(size - 1);
  return Ballot{operand.votes >> base & all, operand.active >> base & all};
}

template <class T>
struct First {
  T value;
  MB_COMBINE static void combine(void* const* operand, u32 mask) {
    const LaneShadows<T> shadows(operand, mask);
    const u32 from = __builtin_ctz(mask);
    T first = static_cast<First*>(operand[from])->value;
    for (u32 i = 0; i < simd_width; ++i) {
      if (!(mask >> i & 1)) continue;
      static_cast<First*>(operand[i])->value = first;
      shadows.move(i, from);
    }
  }
};

template <u32 size, class T>
MB_FUNC T broadcast_first(T x) {
  if constexpr (size == simd_width) {
    First<T> operand{x};
    meet(&operand, First<T>::combine);
    return operand.value;
  } else {
    return shuffle<size, Move::to>(x, __builtin_ctz(ballot<size>(true).active));
  }
}

}  // namespace mb
