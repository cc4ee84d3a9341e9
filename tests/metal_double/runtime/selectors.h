#pragma once

#include <string_view>

#include "runtime/abi.h"

namespace metal_double::runtime {

[[nodiscard]] Selector unique_selector(std::string_view name);

}  // namespace metal_double::runtime
