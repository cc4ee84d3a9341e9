// Callbacks that counted builds insert into LLVM IR (metalbench/msl/transforms/counting.py).
#pragma once

#include "../sync.h"

#if MB_COUNTED

// A code segment: code without calls, branches and labels, so that all of it is executed equally
// often.
extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_FUNC void mb_count_segment(mb::u32 segment) {
  ++mb::current()->executions[segment];
}
extern "C" [[gnu::used, gnu::noinline, gnu::visibility("hidden")]] MB_EMITTED void mb_count_access(
    const void* address, mb::u32 bytes, mb::u32 kind, mb::u32 site, mb::u32 segment) {
  mb::Fiber* self = mb::current();
  const mb::u32 turn = self->executions[segment] - 1;
  self->bundle->group->runtime->count(self, address, bytes, mb::Counted(kind), site, turn);
}

#endif
