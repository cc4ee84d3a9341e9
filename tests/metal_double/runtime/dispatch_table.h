#pragma once

#include <unordered_map>

#include "runtime/abi.h"

namespace metal_double::runtime {

using Methods = std::unordered_map<Selector, Implementation>;

// Never freed, as classes are not.
[[nodiscard]] DispatchTable* make_dispatch_table(const Methods& methods);
// Null where there is none.
[[nodiscard]] Implementation find_method(const Class* type, Selector selector);

}  // namespace metal_double::runtime
