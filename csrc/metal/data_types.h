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

// Return nothing for matrices, structs and objects.
[[nodiscard]] std::optional<VectorType> vector_type(MTLDataType type);
// Return the type of one number, and its size.
[[nodiscard]] MTLDataType scalar_type(Element element);
[[nodiscard]] std::uint32_t scalar_bytes(Element element);
// Return the MSL name: "float4", "half2x3"; "struct" where Metal does not report the name.
[[nodiscard]] std::string type_name(MTLDataType type);
// Return the texel kind of a texture with this component type.
[[nodiscard]] TexelKind texel_kind(MTLDataType type);
[[nodiscard]] TextureType texture_type(MTLTextureType type);

}  // namespace metalbench::metal
