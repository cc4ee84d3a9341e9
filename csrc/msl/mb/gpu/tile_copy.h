// Tile copies by all active lanes, 16 bytes at a time where rows allow it. Such copies from device
// memory to threadgroup memory bypass the registers and complete where the SIMD-group waits; other
// copies complete immediately.
#pragma once

#include "sync.h"

namespace mb {

// Call copy(i) for each i below `count`, distributed over the active lanes, usually all.
template <class Copy>
MB_FUNC void by_lanes(u32 count, Copy copy) {
  const u32 mask = active_lanes();
  if (mask == ~0u) {
    for (u32 at = lane(); at < count; at += 32) copy(at);
    // Reconverge, because the wait for the copies queries the active lanes.
    __nvvm_bar_warp_sync(mask);
  } else {
    const u32 first = u32(__builtin_popcount(mask & ((1u << lane()) - 1)));
    for (u32 at = first; at < count; at += u32(__builtin_popcount(mask))) copy(at);
  }
}

#ifdef __NVPTX__

MB_FUNC void copy_16(u8* to, const u8* from) {
  if (__nvvm_isspacep_shared(to) && __nvvm_isspacep_global(from)) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
                 :
                 : "r"(u32(u64((MB_SHARED u8*)to))), "l"((const MB_GLOBAL u8*)from)
                 : "memory");
  } else {
    __builtin_memcpy(__builtin_assume_aligned(to, 16), __builtin_assume_aligned(from, 16), 16);
  }
}
MB_FUNC void wait_for_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

#else

MB_FUNC void copy_16(u8* to, const u8* from) { __builtin_memcpy(to, from, 16); }
MB_FUNC void wait_for_copies() {}

#endif

// `rows` of `count` elements each. `Wide`: rows consist of aligned groups of 16 bytes.
template <bool Wide>
MB_FUNC void copy_together(u8* to, u64 to_pitch, const u8* from, u64 from_pitch, u32 bytes,
                           u32 count, u32 rows) {
  by_lanes(count * rows, [=](u32 at) {
    const u32 y = at / count, x = at % count * bytes;
    u8* const here = to + y * to_pitch + x;
    const u8* const there = from + y * from_pitch + x;
    if (Wide)
      copy_16(here, there);
    else
      __builtin_memcpy(here, there, bytes);
  });
}

MB_FUNC void copy_rows(u8* to, u64 to_pitch, const u8* from, u64 from_pitch, u32 bytes, u32 count,
                       u32 rows) {
  const u64 line = u64(bytes) * count;
  if ((u64(to) | u64(from) | to_pitch | from_pitch | line) % 16 == 0) {
    copy_together<true>(to, to_pitch, from, from_pitch, 16, u32(line / 16), rows);
  } else {
    copy_together<false>(to, to_pitch, from, from_pitch, bytes, count, rows);
  }
}

}  // namespace mb
