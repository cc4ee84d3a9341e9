// Signed divisions of the least number by -1, whose quotient overflows. Undefined in Metal; Apple
// GPUs return the least number and a remainder of 0. x86-64 faults.
#pragma once

#include "../sync.h"
#include "../spaces.h"

namespace mb {

#if MB_CHECKED
[[gnu::noinline]] MB_UNTRACED static void overflowing_division() {
  Fiber* self = current();
  self->bundle->group->runtime->fail(
      self, "integer overflow: the least number divided by -1 does not fit its type",
      __builtin_return_address(0));
}
#endif

template <class T>
MB_FUNC T safe_divisor(T dividend, T divisor) {
  constexpr T least = T(1) << (8 * sizeof(T) - 1);
  if (__builtin_expect(dividend != least || divisor != -1, 1)) return divisor;
#if MB_CHECKED
  overflowing_division();
#endif
  return 1;
}

}  // namespace mb

// The front end inserts calls of these before divisions; the compiler does not recognise them here.
#define MB_DIVISOR(T, name)                                                                \
  extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_FUNC T name(T dividend,   \
                                                                             T divisor) {  \
    return mb::safe_divisor(dividend, divisor);                                            \
  }
MB_DIVISOR(int, mb_divisor_i32)
MB_DIVISOR(long, mb_divisor_i64)
#undef MB_DIVISOR
