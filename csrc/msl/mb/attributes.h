// [[thread_position_in_grid]] and its like: what each is made of.
#pragma once

#include "lift.h"

namespace mb {

// Where a thread is.
struct Place {
  const Launch* launch;
  Dim3 group;       // threadgroup_position_in_grid
  Dim3 group_size;  // threads that exist in this group
  Dim3 thread;      // thread_position_in_threadgroup
  Dim3 thread_in_grid;
  u32 index;  // of the thread in its group
  u32 simdgroups;
};

MB_FUNC Place place_of(const Launch* launch, const Group* group, const Fiber* fiber) {
  Dim3 size = launch->threads_per_threadgroup, at = fiber->position, base = group->position;
  Dim3 in_grid{base.x * size.x + at.x, base.y * size.y + at.y, base.z * size.z + at.z};
  return Place{launch, base, group->size, at, in_grid, fiber->index, group->simdgroups};
}

// As the type that the kernel asks for.
template <class P>
MB_FUNC P coordinates(Dim3 d) {
  using V = bare<P>;
  using T = element<V>;
  if constexpr (element_of<V>::count == 1) return T(d.x);
  else if constexpr (element_of<V>::count == 2) return V(T(d.x), T(d.y));
  else return V(T(d.x), T(d.y), T(d.z));
}
template <class P>
MB_FUNC P coordinates(u32 value) {
  return bare<P>(value);
}

MB_FUNC u32 thread_index(const Place& p) {
  return (p.thread.z * p.group_size.y + p.thread.y) * p.group_size.x + p.thread.x;
}

// SIMD-groups or quadgroups that a threadgroup of this size has.
MB_FUNC u32 parts(Dim3 size, u32 width) { return (size.x * size.y * size.z + width - 1) / width; }

#define MB_ATTRIBUTE(name, group, ...)                             \
  struct name {                                                    \
    static constexpr bool depends_on_group = group;                \
    MB_FUNC static auto of(const Place& p) { return __VA_ARGS__; } \
  };
MB_ATTRIBUTE(thread_position_in_grid, false, p.thread_in_grid)
MB_ATTRIBUTE(threads_per_grid, false, p.launch->threads_per_grid)
MB_ATTRIBUTE(threadgroups_per_grid, false, p.launch->threadgroups_per_grid)
MB_ATTRIBUTE(dispatch_threads_per_threadgroup, false, p.launch->threads_per_threadgroup)
MB_ATTRIBUTE(dispatch_simdgroups_per_threadgroup, false,
             parts(p.launch->threads_per_threadgroup, simd_width))
MB_ATTRIBUTE(dispatch_quadgroups_per_threadgroup, false,
             parts(p.launch->threads_per_threadgroup, 4))
MB_ATTRIBUTE(threads_per_simdgroup, false, simd_width)
MB_ATTRIBUTE(thread_execution_width, false, simd_width)
MB_ATTRIBUTE(grid_origin, false, Dim3{0, 0, 0})
MB_ATTRIBUTE(grid_size, false, p.launch->threads_per_grid)
MB_ATTRIBUTE(threadgroup_position_in_grid, true, p.group)
MB_ATTRIBUTE(threads_per_threadgroup, true, p.group_size)
MB_ATTRIBUTE(thread_position_in_threadgroup, true, p.thread)
MB_ATTRIBUTE(thread_index_in_threadgroup, true, thread_index(p))
MB_ATTRIBUTE(thread_index_in_simdgroup, true, thread_index(p) % simd_width)
MB_ATTRIBUTE(simdgroup_index_in_threadgroup, true, thread_index(p) / simd_width)
MB_ATTRIBUTE(simdgroups_per_threadgroup, true, p.simdgroups)
MB_ATTRIBUTE(thread_index_in_quadgroup, true, thread_index(p) % 4)
MB_ATTRIBUTE(quadgroup_index_in_threadgroup, true, thread_index(p) / 4)
MB_ATTRIBUTE(quadgroups_per_threadgroup, true, parts(p.group_size, 4))
#undef MB_ATTRIBUTE

MB_FUNC u32 least(u32 a, u32 b) { return a < b ? a : b; }

// Threads of a group along one axis: fewer at the edge of the grid.
MB_FUNC u32 extent(u32 group, u32 size, u32 grid) { return least(size, grid - group * size); }

// Calls row(place, begin, end) for every row of threads of `count` groups from number `first`;
// begin and end are x in the grid. With `merge`, groups one thread high that follow each other make
// one row.
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
    // For reports of faults; the rest of the group is the runtime's own.
    group->position = at;
    Place place{
        launch, at, here, {}, {}, 0, (here.x * here.y * here.z + simd_width - 1) / simd_width};
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
