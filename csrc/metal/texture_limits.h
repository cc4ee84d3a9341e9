#pragma once

#include <string>

#include "core/texture.h"

namespace metalbench::metal {

// Return why Metal does not support such a texture, with a remedy; empty if it does.
[[nodiscard]] std::string why_no_texture(const TextureDescriptor& descriptor);

}  // namespace metalbench::metal
