// Position of a thread, for fibers and for loops over the threads of a group.
#pragma once

#include "../place.h"

namespace mb {

MB_FUNC Place place_of(const Launch* launch, const Group* group, const Fiber* fiber) {
  Dim3 size = launch->threads_per_threadgroup, at = fiber->position, base = group->position;
  Dim3 in_grid{base.x * size.x + at.x, base.y * size.y + at.y, base.z * size.z + at.z};
  return Place{launch, base, group->size, at, in_grid, group->simdgroups};
}

MB_FUNC u32 thread_index(const Place& p) {
  return (p.thread.z * p.group_size.y + p.thread.y) * p.group_size.x + p.thread.x;
}

MB_FUNC u32 lane_index(const Place& p) { return thread_index(p) % simd_width; }
MB_FUNC u32 simdgroup_index(const Place& p) { return thread_index(p) / simd_width; }

MB_FUNC u32 least(u32 a, u32 b) { return a < b ? a : b; }

// Return the number of threads of a group along one axis: fewer at the grid's edge.
MB_FUNC u32 extent(u32 group, u32 size, u32 grid) { return least(size, grid - group * size); }

// Call row(place, begin, end) for each row of threads of `count` groups from number `first`; begin
// and end are x in the grid. With `merge`, consecutive groups one thread high form one row.
template <bool merge, class F>
MB_FUNC void for_each_row(const Launch* launch, Group* group, u64 first, u64 count, F row) {
  Dim3 grid = launch->threads_per_grid, groups = launch->threadgroups_per_grid;
  Dim3 size = launch->threads_per_threadgroup;
  bool flat = merge && size.y == 1 && size.z == 1;
  for (u64 i = first, n; i < first + count; i += n) {
    Dim3 at{u32(i % groups.x), u32(i / groups.x % groups.y), u32(i / groups.x / groups.y)};
    u64 left_in_row = groups.x - at.x, left = first + count - i;
    n = !flat ? 1 : left < left_in_row ? left : left_in_row;
    u32 last = at.x + u32(n) - 1;
    Dim3 here{extent(at.x, size.x, grid.x), extent(at.y, size.y, grid.y),
              extent(at.z, size.z, grid.z)};
    u32 begin = at.x * size.x, end = last * size.x + extent(last, size.x, grid.x);
    // For reports of faults; the runtime owns the rest of the group.
    group->position = at;
    Place place{
        launch, at, here, {}, {}, (here.x * here.y * here.z + simd_width - 1) / simd_width};
    for (u32 z = 0; z < here.z; ++z) {
      for (u32 y = 0; y < here.y; ++y) {
        place.thread = Dim3{0, y, z};
        place.thread_in_grid = Dim3{begin, at.y * size.y + y, at.z * size.z + z};
        row(place, begin, end);
      }
    }
  }
}

}  // namespace mb
