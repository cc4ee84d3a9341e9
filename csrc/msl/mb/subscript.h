// Subscripts of vectors, matrices and array references. These are classes, so clang's own bounds
// check does not apply.
#pragma once

#include "access.h"

#if MB_CHECKED

namespace mb {

[[gnu::noinline]] MB_UNTRACED static void bad_subscript(u64 index, u64 size, const char* what) {
  Fiber* self = current();
  const Undefined told{Finding::subscript, {nullptr, nullptr}, {index, size}, what,
                       __builtin_return_address(0)};
  self->bundle->group->runtime->undefined(self, &told);
}

}  // namespace mb

// Return the subscript if it is valid, otherwise the last valid one.
#define MB_SUBSCRIPT(index, size, what)                                  \
  (__builtin_is_constant_evaluated() || (index) < (size)                 \
       ? (index)                                                         \
       : (mb::bad_subscript((index), (size), (what)), (unsigned long)(size) - 1))
#else
#define MB_SUBSCRIPT(index, size, what) (index)
#endif
