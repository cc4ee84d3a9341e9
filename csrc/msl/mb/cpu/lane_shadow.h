// Propagation of uninitialised bits through SIMD-group functions, which are not instrumented.
// Results replace the lanes' values in memory, and so do their shadows.
#pragma once

#include "fiber_sync.h"
#include "shadow_abi.h"

#if MB_SHADOW
#define MB_COMBINE MB_UNTRACED MB_NOT_SHADOWED
inline constexpr bool mb_follows_lanes = true;
#else
#define MB_COMBINE MB_UNTRACED
inline constexpr bool mb_follows_lanes = false;
#endif

namespace mb {

#if MB_SHADOW

// An operand begins with its lane's value.
template <class T>
class LaneShadows {
 public:
  // Construct before results are written.
  MB_COMBINE LaneShadows(void* const* operand, u32 mask) : operand_(operand), mask_(mask) {
    for (u32 i = 0; i < simd_width; ++i) {
      origin_[i] = 0;
      __builtin_memset(bits_[i], 0, sizeof(T));
      if (mask >> i & 1) take(i);
    }
  }

  // Each result depends on all values of a part of `size` lanes.
  template <u32 size>
  MB_COMBINE void join() const {
    for (u32 first = 0; any_ && first < simd_width; first += size) {
      Joined joined;
      for (u32 i = 0; i < size; ++i) joined.add(*this, first + i);
      for (u32 i = 0; i < size; ++i) set(first + i, joined);
    }
  }
  // Each result depends on the preceding values of its part.
  template <u32 size, bool inclusive>
  MB_COMBINE void run() const {
    Joined joined;
    for (u32 i = 0; any_ && i < simd_width; ++i) {
      if (i % size == 0) joined = {};
      if (inclusive) joined.add(*this, i);
      set(i, joined);
      if (!inclusive) joined.add(*this, i);
    }
  }
  // The result of lane `to` is the value of lane `from`.
  MB_COMBINE void move(u32 to, u32 from) const { move(to, *this, from); }
  // The same for other values of the lanes.
  MB_COMBINE void move(u32 to, const LaneShadows& of, u32 from) const {
    if (!any_ && !of.any_) return;
    const Metadata own = shadow(to);
    __builtin_memcpy(own.shadow, of.bits_[from], sizeof(T));
    for (u32 i = 0; i < (sizeof(T) + 3) / 4; ++i) own.origins[i] = of.origin_[from];
  }
  // The result of a lane is undefined: its source lane is inactive.
  MB_COMBINE void lose(u32 lane) const {
    Fiber* reader = fiber_of(reinterpret_cast<uptr>(operand_[lane]));
    const void* site = reader->bundle->site[reader->lane];
    Joined lost;
    lost.origin = reader->bundle->group->runtime->born(reader, nullptr, site);
    __builtin_memset(lost.bits, 0xff, sizeof(T));
    set(lane, lost);
  }
  // Each result is a mask of the lanes' values.
  MB_COMBINE void vote() const {
    u32 bits = 0;
    Joined joined;
    for (u32 i = 0; i < simd_width; ++i) {
      if ((bits_[i][0] & 1) == 0) continue;
      bits |= 1u << i;
      joined.origin = origin_[i];
    }
    __builtin_memcpy(joined.bits, &bits, sizeof bits);
    for (u32 i = 0; any_ && i < simd_width; ++i) set(i, joined);
  }

 private:
  // Per byte: operations are component-wise, and padding is never initialised.
  struct Joined {
    u8 bits[sizeof(T)] = {};
    u32 origin = 0;
    MB_COMBINE void add(const LaneShadows& of, u32 lane) {
      for (u32 i = 0; i < sizeof(T); ++i) bits[i] |= of.bits_[lane][i];
      if (origin == 0) origin = of.origin_[lane];
    }
  };

  MB_COMBINE Metadata shadow(u32 lane) const {
    const auto at = reinterpret_cast<uptr>(operand_[lane]);
    u8* own = fiber_of(at)->shadow;
    const uptr offset = at % stack_bytes;
    return {own + offset, reinterpret_cast<u32*>(own + origins_at + offset / 4 * 4)};
  }
  MB_COMBINE void take(u32 lane) {
    const Metadata own = shadow(lane);
    __builtin_memcpy(bits_[lane], own.shadow, sizeof(T));
    for (u32 i = 0; i < sizeof(T); ++i) {
      if (bits_[lane][i] == 0) continue;
      any_ = true;
      origin_[lane] = own.origins[i / 4];
      // 0 would mean that it is initialised.
      if (origin_[lane] == 0) origin_[lane] = unknown_origin;
      return;
    }
  }
  MB_COMBINE void set(u32 lane, const Joined& joined) const {
    if (!(mask_ >> lane & 1)) return;
    const Metadata own = shadow(lane);
    __builtin_memcpy(own.shadow, joined.bits, sizeof(T));
    for (u32 i = 0; i < (sizeof(T) + 3) / 4; ++i) own.origins[i] = joined.origin;
  }

  void* const* operand_;
  u32 mask_;
  bool any_ = false;
  u8 bits_[simd_width][sizeof(T)];
  u32 origin_[simd_width];  // 0 where the whole value is initialised
};

#else

template <class T>
struct LaneShadows {
  MB_FUNC LaneShadows(void* const*, u32) {}
  template <u32 size>
  MB_FUNC void join() const {}
  template <u32 size, bool inclusive>
  MB_FUNC void run() const {}
  MB_FUNC void move(u32, u32) const {}
  MB_FUNC void move(u32, const LaneShadows&, u32) const {}
  MB_FUNC void lose(u32) const {}
  MB_FUNC void vote() const {}
};

#endif

}  // namespace mb
