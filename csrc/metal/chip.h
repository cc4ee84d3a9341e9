#pragma once

#include <string>
#include <string_view>

namespace metalbench::metal {

// Return "m4_max" for "Apple M4 Max", "m4" for "Apple M4"; empty for a GPU outside of the M family.
[[nodiscard]] std::string chip_of(std::string_view device_name);

}  // namespace metalbench::metal
