// How one fiber of a group gives way to another.
#pragma once

#include "../access.h"
#include "switch.h"

namespace mb {

// Leaves this stack, saved at *save, and continues another one. A call that is inserted before the
// assembly would overwrite its operands and where it returns to.
[[gnu::naked]] MB_UNTRACED MB_NOT_SHADOWED static void switch_stack(void**, void*) {
  asm(MB_SAVE_STACK MB_RESUME_STACK);
}

// The calling fiber waits; whoever is ready continues.
MB_FUNC MB_UNTRACED void leave(Fiber* self, Bundle* bundle, u32 ready) {
  prefetch_stack(bundle, self->lane);
  bundle->ready = ready;
  void* next = ready != 0 ? bundle->stack_pointer[__builtin_ctz(ready)]
                          : bundle->group->runtime->next(self);
  if (next != nullptr) switch_stack(&bundle->stack_pointer[self->lane], next);
}

}  // namespace mb
