#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/texture.h"
#include "core/types.h"

namespace metalbench::metal {

struct VectorType {
  Element scalar = Element::float32;
  std::uint32_t components = 1;
};

// Nothing for matrices, structs and objects.
[[nodiscard]] std::optional<VectorType> vector_type(MTLDataType type);
// As in MSL: "float4", "half2x3"; "struct" where the name is not kept.
[[nodiscard]] std::string type_name(MTLDataType type);
// What a texture of this component type holds.
[[nodiscard]] TexelKind texel_kind(MTLDataType type);
[[nodiscard]] TextureType texture_type(MTLTextureType type);

}  // namespace metalbench::metal
