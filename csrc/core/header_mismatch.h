// Error for a kernel that was compiled with MSL headers of another version.
#pragma once

#include <cstdint>
#include <string>

#include "core/errors.h"

namespace metalbench {

// `found` is the abi version of the kernel's headers; see csrc/msl/mb/info.h.
[[nodiscard]] Error header_mismatch(const std::string& device, std::uint32_t found);

}  // namespace metalbench
