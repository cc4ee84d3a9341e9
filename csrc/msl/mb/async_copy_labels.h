// The functions that tile copies are called by, whose names are labels. Their definitions stand in the
// text of each source that has such calls: of what is precompiled, clang emits no function that is called
// by its label alone.
#pragma once

#include "async_copy.h"

#if MB_VECTOR
// Inlined where a source calls it; what is left over would ask for its lane.
#define MB_CALLED_BY_LABEL extern "C" MB_EMITTED MB_UNTRACED
#elif MB_GPU
#define MB_CALLED_BY_LABEL extern "C" MB_EMITTED __attribute__((always_inline))
#else
#define MB_CALLED_BY_LABEL \
  extern "C" MB_EMITTED __attribute__((used, visibility("hidden"))) MB_UNTRACED
#endif

// A label is a symbol as it stands, also where C's names get an underscore: so these have labels, too.
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
