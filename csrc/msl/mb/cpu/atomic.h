// Atomic operations of the host.
#pragma once

#include "../sync.h"

#define MB_ATOMIC_CALL(name, ...) __atomic_##name(__VA_ARGS__)

// Whether the threads of a group run on fibers, so that spinning must yield.
extern const bool mb_has_fibers;

namespace mb {

// Yield after a number of reads of atomic objects: this thread may spin until another one writes.
[[gnu::noinline]] MB_UNTRACED static void spin() {
  Fiber* self = current();
  if (++self->reads % 64) return;
  self->bundle->group->runtime->yield(self);
}

MB_FUNC void let_others_run() {
  if (mb_has_fibers) spin();
}

// Whether a builtin operation exists; otherwise a compare-exchange loop is used.
template <class T>
inline constexpr bool is_native_sum = __is_integral(T);

}  // namespace mb
