// PJRT's table of the plugin, with a running Python behind it.
#pragma once

#include "pjrt/abi.h"

namespace metalbench::c_api {

// Starts Python in this process unless it runs. Throws std::runtime_error saying what is missing.
[[nodiscard]] const pjrt::Api& table();

}  // namespace metalbench::c_api
