// Atomic operations of a GPU, among its own threads.
#pragma once

#include "../sync.h"

#define MB_ATOMIC_CALL(name, ...) __scoped_atomic_##name(__VA_ARGS__, __MEMORY_SCOPE_DEVICE)

namespace mb {

MB_FUNC void let_others_run() {}

// Whether a builtin operation exists; otherwise a compare-exchange loop is used.
template <class T>
inline constexpr bool is_native_sum = __is_integral(T) || __is_same(T, float);

}  // namespace mb
