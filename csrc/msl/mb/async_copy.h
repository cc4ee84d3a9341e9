// Asynchronous tile copies of a SIMD-group. Metal's headers do not declare them, but its compiler
// knows the names below, and libraries declare them:
//
//   thread _simdgroup_event_t* __metal_simdgroup_async_copy_2d(ulong, ulong, threadgroup void*,
//       ulong, ulong, ulong2, const device void*, ulong, ulong, ulong2, long2, int)
//       __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
//
// (1 means device memory and 3 threadgroup memory.) The front end maps these labels to the functions
// in async_copy_labels.h, one for both directions. On the cpu device the first lane copies at the
// start; on a GPU all lanes copy (gpu/tile_copy.h). The lanes synchronise when they wait for the
// copy.
#pragma once

#include "sync.h"
#include "vec.h"
#if MB_GPU
#include "gpu/tile_copy.h"
#endif

namespace mb {

enum class TileClamp : int { to_zero, to_edge };

struct Tile {
  u8* data;
  ulong row;  // elements between the starts of two rows
  metal::vec<ulong, 2> size;
};

#if MB_GPU

MB_FUNC void start_line(u8* to, const u8* from, ulong bytes, ulong count) {
  copy_rows(to, 0, from, 0, u32(bytes), u32(count), 1);
}

MB_FUNC void start_tile(const Tile& to, const Tile& from, ulong bytes, metal::vec<long, 2> offset,
                        TileClamp clamp) {
  const u8* const first = from.data + (offset.y * long(from.row) + offset.x) * long(bytes);
  const u32 wide = u32(to.size.x), high = u32(to.size.y);
  const u32 columns = u32(from.size.x < wide ? from.size.x : wide);
  const u32 rows = u32(from.size.y < high ? from.size.y : high);
  copy_rows(to.data, to.row * bytes, first, from.row * bytes, u32(bytes), columns, rows);
  if (columns == wide && rows == high) return;
  // Rows and columns outside of the source.
  const bool repeats = clamp == TileClamp::to_edge && columns != 0 && rows != 0;
  by_lanes(wide * high, [=](u32 at) {
    const u32 x = at % wide, y = at / wide;
    if (x < columns && y < rows) return;
    u8* const here = to.data + (y * to.row + x) * bytes;
    const ulong column = x < columns ? x : columns - 1, row = y < rows ? y : rows - 1;
    if (repeats) __builtin_memcpy(here, first + (row * from.row + column) * bytes, bytes);
    else __builtin_memset(here, 0, bytes);
  });
}

#else

// Copy one row of a tile: `from` has `valid` elements; the rest is zero, or repeats the last one.
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

MB_FUNC MB_UNTRACED void start_line(u8* to, const u8* from, ulong bytes, ulong count) {
  if (lane() == 0) copy_row(to, from, bytes, count, count, TileClamp::to_zero);
}
MB_FUNC MB_UNTRACED void start_tile(const Tile& to, const Tile& from, ulong bytes,
                                    metal::vec<long, 2> offset, TileClamp clamp) {
  if (lane() == 0) copy_tile(to, from, bytes, offset, clamp);
}
MB_FUNC MB_UNTRACED void wait_for_copies() {}

#endif

}  // namespace mb
