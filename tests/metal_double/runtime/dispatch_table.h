#pragma once

#include <unordered_map>

#include "runtime/abi.h"

namespace metal_double::runtime {

using Methods = std::unordered_map<Selector, Implementation>;

// Never freed: a thread may read it for as long as it likes.
[[nodiscard]] DispatchTable* make_dispatch_table(const Methods& methods);
// For this class alone, while others may send messages. Not to be called by two threads at once.
void set_method(Class& type, Selector selector, Implementation implementation);
// Null where there is none.
[[nodiscard]] Implementation find_method(const Class* type, Selector selector);

}  // namespace metal_double::runtime
