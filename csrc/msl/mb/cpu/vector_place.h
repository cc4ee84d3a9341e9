// Position of a thread that is a lane of a vector.
#pragma once

#include "../place.h"
#include "vector_sync.h"

namespace mb {

// A marker's result is below `limit`, from which the compiler derives sums and products without
// overflow.
MB_FUNC u32 below(u32 limit, u32 value) {
  __builtin_assume(value < limit);
  return value;
}

MB_FUNC Place place_of_lane(const Launch* launch, const Group* group) {
  const Dim3 at{below(max_threads, mb_vector_x()), below(max_threads, mb_vector_y()),
                below(max_threads, mb_vector_z())};
  const Dim3 size = launch->threads_per_threadgroup, base = group->position;
  const Dim3 in_grid{base.x * size.x + at.x, base.y * size.y + at.y, base.z * size.z + at.z};
  return Place{launch, base, group->size, at, in_grid, group->simdgroups};
}

MB_FUNC u32 thread_index(const Place&) { return below(max_threads, mb_vector_index()); }
MB_FUNC u32 lane_index(const Place&) { return lane(); }
MB_FUNC u32 simdgroup_index(const Place&) {
  return below(max_threads / simd_width, mb_vector_simdgroup());
}

}  // namespace mb
