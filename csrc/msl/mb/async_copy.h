// Tile copies that a SIMD-group starts and later waits for. Metal's headers do not declare them, but
// its compiler knows them by the names below, and libraries declare them for themselves:
//
//   thread _simdgroup_event_t* __metal_simdgroup_async_copy_2d(ulong, ulong, threadgroup void*, ulong,
//       ulong, ulong2, const device void*, ulong, ulong, ulong2, long2, int)
//       __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
//
// (1 stands for device memory and 3 for threadgroup memory.) The front end makes these labels the names
// of the functions below, one for both directions. A copy is done when it is started, by the first
// lane; all lanes meet when they wait for it.
#pragma once

#include "sync.h"
#include "vec.h"

#if MB_VECTOR || MB_GPU
// Inlined where a source calls it; what is left over would ask for its lane.
#define MB_CALLED_BY_LABEL extern "C" MB_EMITTED MB_UNTRACED
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

namespace mb {

enum class TileClamp : int { to_zero, to_edge };

// One row of a tile: `from` has `valid` elements; what lies beyond is zero, or repeats the last one.
MB_UNTRACED inline void copy_row(u8* to, const u8* from, ulong bytes, ulong count, ulong valid,
                                 TileClamp clamp) {
  const ulong copied = count < valid ? count : valid;
  if (copied != 0) MB_ACCESS(from, copied * bytes, read);
  MB_ACCESS(to, count * bytes, write);
  __builtin_memcpy(to, from, copied * bytes);
  for (ulong i = copied; i < count; ++i) {
    if (clamp == TileClamp::to_edge && valid != 0) __builtin_memcpy(to + i * bytes, from + (valid - 1) * bytes, bytes);
    else __builtin_memset(to + i * bytes, 0, bytes);
  }
}

struct Tile {
  u8* data;
  ulong row;  // elements from one row to the next
  metal::vec<ulong, 2> size;
};

MB_UNTRACED inline void copy_tile(const Tile& to, const Tile& from, ulong bytes, metal::vec<long, 2> offset,
                                  TileClamp clamp) {
  for (ulong y = 0; y < to.size.y; ++y) {
    const bool inside = y < from.size.y;
    const ulong row = inside ? y : from.size.y - 1;
    const bool readable = from.size.y != 0 && (inside || clamp == TileClamp::to_edge);
    const u8* source = from.data + ((long(row) + offset.y) * long(from.row) + offset.x) * long(bytes);
    copy_row(to.data + y * to.row * bytes, source, bytes, to.size.x, readable ? from.size.x : 0, clamp);
  }
}

}  // namespace mb

MB_CALLED_BY_LABEL inline void* mb_async_copy_1d(ulong bytes, ulong, void* to, const void* from,
                                                 ulong count) {
  if (mb::lane() == 0) {
    mb::copy_row((mb::u8*)to, (const mb::u8*)from, bytes, count, count, mb::TileClamp::to_zero);
  }
  return nullptr;
}

MB_CALLED_BY_LABEL inline void* mb_async_copy_2d(ulong bytes, ulong, void* to, ulong to_row, ulong,
                                                 metal::vec<ulong, 2> to_size, const void* from,
                                                 ulong from_row, ulong, metal::vec<ulong, 2> from_size,
                                                 metal::vec<long, 2> offset, int clamp) {
  if (mb::lane() == 0) {
    mb::copy_tile({(mb::u8*)to, to_row, to_size}, {(mb::u8*)from, from_row, from_size}, bytes, offset,
                  mb::TileClamp(clamp));
  }
  return nullptr;
}

MB_CALLED_BY_LABEL inline void mb_wait_simdgroup_events(int, void**) {
  MB_MEET_IN_SIMDGROUP(mb::mem_device | mb::mem_threadgroup);
}

#undef MB_CALLED_BY_LABEL
