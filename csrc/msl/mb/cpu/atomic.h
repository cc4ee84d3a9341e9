// Atomic operations of the host.
#pragma once

#include "../sync.h"

#define MB_ATOMIC_CALL(name, ...) __atomic_##name(__VA_ARGS__)

// Whether the threads of a group run on fibers, so that spinning must let others run.
extern const bool mb_has_fibers;

namespace mb {

// Every so many reads of an atomic, another thread gets its turn: it may be what this one waits
// for.
[[gnu::noinline]] MB_UNTRACED static void spin() {
  Fiber* self = current();
  if (++self->reads % 64) return;
  self->bundle->group->runtime->yield(self);
}

MB_FUNC void let_others_run() {
  if (mb_has_fibers) spin();
}

// Whether there is an operation for it; else it is a loop of exchanges.
template <class T>
inline constexpr bool is_native_sum = __is_integral(T);

}  // namespace mb
