// Functions of tile copies, which sources call by assembly label. Each source with such calls
// includes the definitions itself: clang emits no function of a precompiled header that is called
// only by its label.
#pragma once

#include "async_copy.h"

#if MB_VECTOR
// Inlined at each call; the remaining definition would need its lane.
#define MB_CALLED_BY_LABEL extern "C" MB_EMITTED MB_UNTRACED
#elif MB_GPU
#define MB_CALLED_BY_LABEL extern "C" MB_EMITTED __attribute__((always_inline))
#else
#define MB_CALLED_BY_LABEL \
  extern "C" MB_EMITTED __attribute__((used, visibility("hidden"))) MB_UNTRACED
#endif

// A label is the exact symbol, also on systems where C names get an underscore, so these functions
// have labels as well.
extern "C" {
void* mb_async_copy_1d(ulong, ulong, void*, const void*, ulong) asm("mb_async_copy_1d");
void* mb_async_copy_2d(ulong, ulong, void*, ulong, ulong, metal::vec<ulong, 2>, const void*, ulong, ulong,
                       metal::vec<ulong, 2>, metal::vec<long, 2>, int) asm("mb_async_copy_2d");
void mb_wait_simdgroup_events(int, void**) asm("mb_wait_simdgroup_events");
}

MB_CALLED_BY_LABEL inline void* mb_async_copy_1d(ulong bytes, ulong, void* to, const void* from,
                                                 ulong count) {
  mb::start_line((mb::u8*)to, (const mb::u8*)from, bytes, count);
  return nullptr;
}

MB_CALLED_BY_LABEL inline void* mb_async_copy_2d(ulong bytes, ulong, void* to, ulong to_row, ulong,
                                                 metal::vec<ulong, 2> to_size, const void* from,
                                                 ulong from_row, ulong, metal::vec<ulong, 2> from_size,
                                                 metal::vec<long, 2> offset, int clamp) {
  mb::start_tile({(mb::u8*)to, to_row, to_size}, {(mb::u8*)from, from_row, from_size}, bytes, offset,
                 mb::TileClamp(clamp));
  return nullptr;
}

MB_CALLED_BY_LABEL inline void mb_wait_simdgroup_events(int, void**) {
  mb::wait_for_copies();
  MB_MEET_IN_SIMDGROUP(mb::mem_device | mb::mem_threadgroup);
}

#undef MB_CALLED_BY_LABEL
