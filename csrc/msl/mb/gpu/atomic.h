// Atomic operations of a GPU, for all of its threads and no host.
#pragma once

#include "../sync.h"

#define MB_ATOMIC_CALL(name, ...) __scoped_atomic_##name(__VA_ARGS__, __MEMORY_SCOPE_DEVICE)

namespace mb {

MB_FUNC void let_others_run() {}

// Whether there is an operation for it; else it is a loop of exchanges.
template <class T>
inline constexpr bool is_native_sum = __is_integral(T) || __is_same(T, float);

}  // namespace mb
