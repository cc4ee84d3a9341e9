#include "metal/texture_limits.h"

#include "core/types.h"

namespace metalbench::metal {
namespace {

// For all of Apple's GPUs since 2019:
// https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf
constexpr std::uint32_t most_texels = 16384;    // along an axis
constexpr std::uint32_t most_texels_3d = 2048;  // along an axis
constexpr std::uint32_t most_slices = 2048;     // elements of an array
constexpr std::uint32_t most_in_buffer = 1U << 28;

Size3 most_of(TextureType type) {
  switch (type) {
    case TextureType::texture3d:
      return {most_texels_3d, most_texels_3d, most_texels_3d};
    case TextureType::texture_buffer:
      return {most_in_buffer, 1, 1};
    case TextureType::texturecube_array:
      return {most_texels, most_texels, 6 * most_slices};
    default:
      return {most_texels, most_texels, most_slices};
  }
}

}  // namespace

std::string why_no_texture(const TextureDescriptor& descriptor) {
  const TextureType type = descriptor.type;
  if (type == TextureType::texture2d_ms) {
    return "the host cannot fill a multisampled texture of Metal's; use texture2d_array with an "
           "element for each sample";
  }
  const bool one_level = dimensions(type) == 1;
  if (one_level && descriptor.levels.size() > 1) {
    return "Metal's textures of one dimension have one level, got " +
           std::to_string(descriptor.levels.size()) + "; use a 2d texture of height 1";
  }
  const TextureLevel& largest = descriptor.levels.front();
  const Size3 size{largest.width, largest.height, largest.slices};
  const Size3 most = most_of(type);
  if (size.x > most.x || size.y > most.y || size.z > most.z) {
    return "Metal's textures of kind " + std::string(to_string(type)) + " have at most " +
           to_string(most) + " texels, got " + to_string(size) + "; use a buffer";
  }
  return "";
}

}  // namespace metalbench::metal
