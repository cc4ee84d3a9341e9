#pragma once

#import <Metal/Metal.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/texture.h"

namespace metalbench::metal {

enum class ScalarType : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
};

struct VectorType {
  ScalarType scalar = ScalarType::float32;
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
