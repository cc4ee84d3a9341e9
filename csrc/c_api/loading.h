// Load the plugin, start Python, and return PJRT's table.
#pragma once

#include "pjrt/abi.h"

namespace metalbench::c_api {

// Starts Python in this process unless it runs. Throws std::runtime_error if something is missing.
[[nodiscard]] const pjrt::Api& table();

}  // namespace metalbench::c_api
