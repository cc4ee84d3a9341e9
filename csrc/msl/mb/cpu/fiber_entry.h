// Entry points of a kernel: one thread on its fiber, or a loop over many groups.
#pragma once

#include "../attributes.h"

namespace mb {

template <class Kernel>
MB_UNTRACED MB_FUNC void run_thread(const Launch* launch, const Group* group, const Fiber* fiber) {
  typename Kernel::All bounds(launch, group->arena);
  bounds.template call<Kernel::body>(place_of(launch, group, fiber));
}

template <class Kernel>
MB_UNTRACED MB_FUNC void run_span(const Launch* launch, Group* group, u64 first, u64 count) {
  typename Kernel::All bounds(launch, group->arena);
  for_each_row<Kernel::rows_merge>(
      launch, group, first, count, [&](Place place, u32 begin, u32 end) {
        Dim3 in_group = place.thread;
#pragma clang loop vectorize(assume_safety)
        for (u32 x = begin; x < end; ++x) {
          place.thread = Dim3{x - begin, in_group.y, in_group.z};
          place.thread_in_grid.x = x;
          bounds.template call<Kernel::body>(place);
        }
      });
}

}  // namespace mb

#define MB_THREAD_ENTRY                                                                   \
  MB_EXPORT void mb_thread(const mb::Launch* l, const mb::Group* g, const mb::Fiber* f) { \
    mb::run_thread<mb_kernel>(l, g, f);                                                   \
  }
#define MB_SPAN_ENTRY                                                             \
  MB_EXPORT void mb_span(const mb::Launch* l, mb::Group* g, unsigned long long i, \
                         unsigned long long n) {                                  \
    mb::run_span<mb_kernel>(l, g, i, n);                                          \
  }
// One of several kernels in a shared object, none of which synchronises or has threadgroup memory.
// The names of its entry points end in `name`.
#define MB_ONE_OF_MANY(name, function, max_threads, ...)                                    \
  using mb_kernel##name = mb::Kernel<&function, decltype(&function), ##__VA_ARGS__>;        \
  MB_EXPORT const mb::Info* mb_info##name() {                                               \
    static constexpr mb::Info info = mb_kernel##name::info(false, max_threads);             \
    return &info;                                                                           \
  }                                                                                         \
  MB_EXPORT void mb_span##name(const mb::Launch* l, mb::Group* g, unsigned long long i,     \
                               unsigned long long n) {                                      \
    mb::run_span<mb_kernel##name>(l, g, i, n);                                              \
  }

// Only one of the two: each contains the whole kernel, and compilation takes long.
#define MB_ENTRIES(needs_fibers) MB_ENTRY_##needs_fibers
#define MB_ENTRY_1 MB_THREAD_ENTRY
#if MB_CHECKED || MB_COUNTED
#define MB_ENTRY_0 MB_THREAD_ENTRY
#else
#define MB_ENTRY_0 MB_SPAN_ENTRY
#endif
