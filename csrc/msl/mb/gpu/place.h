// Position of a GPU thread in the grid.
#pragma once

#include "../place.h"
#include "sync.h"

namespace mb {

MB_FUNC u32 thread_index(const Place& p) {
  return (p.thread.z * p.group_size.y + p.thread.y) * p.group_size.x + p.thread.x;
}

MB_FUNC u32 lane_index(const Place&) { return lane(); }
MB_FUNC u32 simdgroup_index(const Place& p) { return thread_index(p) / simd_width; }

MB_FUNC Dim3 group_position(const Launch& launch) {
  const u32 x = __nvvm_read_ptx_sreg_ctaid_x();
  if (launch.is_flat == 0)
    return {x, u32(__nvvm_read_ptx_sreg_ctaid_y()), u32(__nvvm_read_ptx_sreg_ctaid_z())};
  const Dim3 groups = launch.threadgroups_per_grid;
  return {x % groups.x, x / groups.x % groups.y, x / groups.x / groups.y};
}

// Return the number of threads of a group along one axis: fewer at the grid's edge.
MB_FUNC u32 extent(u32 group, u32 size, u32 grid) {
  const u32 left = grid - group * size;
  return left < size ? left : size;
}

// Find the position of the thread; return false if it does not exist. At the grid's edge the
// existing threads are the first of the hardware's, so that SIMD-groups are full, as in Metal.
MB_FUNC bool find_place(const Launch& launch, Place& place) {
  const Dim3 size = launch.threads_per_threadgroup, grid = launch.threads_per_grid;
  const Dim3 group = group_position(launch);
  const Dim3 here{extent(group.x, size.x, grid.x), extent(group.y, size.y, grid.y),
                  extent(group.z, size.z, grid.z)};
  Dim3 at{u32(__nvvm_read_ptx_sreg_tid_x()), u32(__nvvm_read_ptx_sreg_tid_y()),
          u32(__nvvm_read_ptx_sreg_tid_z())};
  const u32 threads = here.x * here.y * here.z;
  bool exists = true;
  if (launch.is_flat != 0 || here.x != size.x || here.y != size.y || here.z != size.z) {
    const u32 index = (at.z * size.y + at.y) * size.x + at.x;
    exists = index < threads;
    at = Dim3{index % here.x, index / here.x % here.y, index / here.x / here.y};
  }
  const Dim3 in_grid{group.x * size.x + at.x, group.y * size.y + at.y, group.z * size.z + at.z};
  place = Place{&launch, group, here, at, in_grid, (threads + simd_width - 1) / simd_width};
  return exists;
}

}  // namespace mb
