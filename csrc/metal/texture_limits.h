#pragma once

#include <string>

#include "core/texture.h"

namespace metalbench::metal {

// Why Metal has no such texture, and what would help; empty when it has.
[[nodiscard]] std::string why_no_texture(const TextureDescriptor& descriptor);

}  // namespace metalbench::metal
