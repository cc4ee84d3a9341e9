// Switch from one fiber of a group to another.
#pragma once

#include "../access.h"
#include "switch.h"

namespace mb {

// Save this stack at *save and continue another one. Naked and not instrumented: an inserted call
// would overwrite the operands and the return address.
[[gnu::naked]] MB_UNTRACED MB_NOT_SHADOWED static void switch_stack(void**, void*) {
  asm(MB_SAVE_STACK MB_RESUME_STACK);
}

// Block the calling fiber and continue a ready one.
MB_FUNC MB_UNTRACED void leave(Fiber* self, Bundle* bundle, u32 ready) {
  prefetch_stack(bundle, self->lane);
  bundle->ready = ready;
  void* next = ready != 0 ? bundle->stack_pointer[__builtin_ctz(ready)]
                          : bundle->group->runtime->next(self);
  if (next != nullptr) switch_stack(&bundle->stack_pointer[self->lane], next);
}

}  // namespace mb
