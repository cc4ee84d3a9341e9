// Handlers of clang's checks for undefined behaviour, which report to the runtime.
#pragma once

#include "finding.h"
#include "../sync.h"

#if MB_CHECKED

namespace mb {

// Arguments that clang passes, by handler.
struct SourceLocation {
  const char* file;
  u32 line, column;
};
struct OperandTypes {
  SourceLocation where;
  const TypeDescriptor* type[2];  // of a division: only the first
};

MB_FUNC MB_UNTRACED void report(const Undefined& what) {
  Fiber* self = current();
  self->bundle->group->runtime->undefined(self, &what);
}

}  // namespace mb

#define MB_HANDLER extern "C" [[gnu::visibility("hidden"), gnu::noinline]] MB_EMITTED MB_UNTRACED

// division.h reports the other overflow, the least number by -1. The divisor may still be zero
// afterwards: x86-64 then traps, GPUs do not.
MB_HANDLER void __ubsan_handle_divrem_overflow(const mb::OperandTypes* types, mb::uptr dividend,
                                               mb::uptr divisor) {
  if (static_cast<mb::u32>(divisor) != 0 || (types->type[0]->bits() > 32 && divisor != 0)) return;
  mb::report({mb::Finding::division_by_zero, {types->type[0], nullptr}, {dividend, divisor},
              nullptr, __builtin_return_address(0)});
}
MB_HANDLER void __ubsan_handle_shift_out_of_bounds(const mb::OperandTypes* types, mb::uptr value,
                                                   mb::uptr amount) {
  mb::report({mb::Finding::shift, {types->type[0], types->type[1]}, {value, amount}, nullptr,
              __builtin_return_address(0)});
}
MB_HANDLER void __ubsan_handle_float_cast_overflow(const mb::OperandTypes* types, mb::uptr from) {
  mb::report({mb::Finding::conversion, {types->type[0], types->type[1]}, {from, 0}, nullptr,
              __builtin_return_address(0)});
}
#define MB_OVERFLOW(name, sign)                                                              \
  MB_HANDLER void __ubsan_handle_##name##_overflow(const mb::OperandTypes* types, mb::uptr a, \
                                                   mb::uptr b) {                             \
    mb::report({mb::Finding::signed_overflow, {types->type[0], types->type[0]}, {a, b}, sign, \
                __builtin_return_address(0)});                                               \
  }
MB_OVERFLOW(add, "+")
MB_OVERFLOW(sub, "-")
MB_OVERFLOW(mul, "*")
#undef MB_OVERFLOW
MB_HANDLER void __ubsan_handle_negate_overflow(const mb::OperandTypes* types, mb::uptr value) {
  mb::report({mb::Finding::signed_overflow, {types->type[0], types->type[0]}, {value, 0}, nullptr,
              __builtin_return_address(0)});
}
// The front end adds the name of the subscripted variable
// (metalbench/msl/transforms/source_names.py).
MB_HANDLER void __ubsan_handle_out_of_bounds(const mb::OperandTypes* types, mb::uptr index) {
  mb::report({mb::Finding::subscript, {types->type[0], types->type[1]}, {index, 0}, nullptr,
              __builtin_return_address(0)});
}
extern "C" [[gnu::used, gnu::noinline, gnu::visibility("hidden")]] MB_EMITTED MB_UNTRACED void
mb_out_of_bounds(const mb::OperandTypes* types, mb::uptr index, const char* name) {
  mb::report({mb::Finding::subscript, {types->type[0], types->type[1]}, {index, 0}, name,
              __builtin_return_address(0)});
}

// Arithmetic with fast math on an infinity or NaN, or with one as its result
// (metalbench/msl/transforms/finite_values.py).
[[gnu::noinline]] MB_UNTRACED MB_NOT_SHADOWED static void mb_special_value(mb::u32 is_nan) {
  mb::report({mb::Finding::special_value, {nullptr, nullptr}, {is_nan, 0}, nullptr,
              __builtin_return_address(0)});
}
extern "C" [[gnu::used, gnu::visibility("hidden")]] MB_EMITTED MB_FUNC MB_UNTRACED MB_NOT_SHADOWED void
mb_check_finite(mb::u32 is_special, mb::u32 is_nan) {
  if (__builtin_expect(is_special, 0)) mb_special_value(is_nan);
}

#undef MB_HANDLER

#endif
