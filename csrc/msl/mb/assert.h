// assert() of <metal_assert>: the front end's first pass adds the text of the condition.
#pragma once

#include "sync.h"

#if MB_CHECKED
namespace mb {

[[gnu::noinline, gnu::cold, clang::nomerge, clang::not_tail_called]] MB_UNTRACED static void fail(
    const char* what) {
  Fiber* self = current();
  self->bundle->group->runtime->fail(self, what, __builtin_return_address(0));
}

}  // namespace mb
#define MB_ASSERT(text, ...) ((__VA_ARGS__) ? (void)0 : mb::fail("assert(" text ") failed"))
#else
// Compiled, so that it stays valid, and never evaluated.
#define MB_ASSERT(text, ...) ((void)(true || (__VA_ARGS__)))
#endif
