#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi.h"

namespace metal_double::runtime {

// Null where there is none.
[[nodiscard]] Class* find_class(std::string_view name);
[[nodiscard]] const std::vector<Class*>& all_classes();
[[nodiscard]] bool is_kind_of(const Class* type, const Class* ancestor);
[[nodiscard]] bool conforms(const Class* type, const Protocol* protocol);
// "-[NSString length]".
[[nodiscard]] std::string method_name(const Class* type, Selector selector);

}  // namespace metal_double::runtime
