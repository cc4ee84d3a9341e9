// What is said where a kernel was compiled with other MSL headers than this extension was built
// from.
#pragma once

#include <cstdint>
#include <string>

#include "core/errors.h"

namespace metalbench {

// `found` is the number that the kernel's headers have; see csrc/msl/mb/info.h.
[[nodiscard]] Error other_headers(const std::string& device, std::uint32_t found);

}  // namespace metalbench
