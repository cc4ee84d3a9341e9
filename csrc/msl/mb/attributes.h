// Values of attributes such as [[thread_position_in_grid]].
#pragma once

#if MB_GPU
#include "gpu/place.h"
#elif MB_VECTOR
#include "cpu/vector_place.h"
#else
#include "cpu/fiber_place.h"
#endif

namespace mb {

// Convert to the type of the kernel's parameter.
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

// Return the number of SIMD-groups or quadgroups in a threadgroup of this size.
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
MB_ATTRIBUTE(thread_index_in_simdgroup, true, lane_index(p))
MB_ATTRIBUTE(simdgroup_index_in_threadgroup, true, simdgroup_index(p))
MB_ATTRIBUTE(simdgroups_per_threadgroup, true, p.simdgroups)
MB_ATTRIBUTE(thread_index_in_quadgroup, true, lane_index(p) % 4)
MB_ATTRIBUTE(quadgroup_index_in_threadgroup, true, thread_index(p) / 4)
MB_ATTRIBUTE(quadgroups_per_threadgroup, true, parts(p.group_size, 4))
#undef MB_ATTRIBUTE

}  // namespace mb
