// Formats, types and contents of textures and samplers, for all devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "msl/mb/texture_types.h"

namespace metalbench {

using mb::AddressMode;
using mb::BorderColor;
using mb::Channel;
using mb::CompareFunction;
using mb::Filter;
using mb::MipFilter;
using mb::Sampler;
using mb::TexelKind;
using mb::TextureType;

struct PixelFormat {
  Channel channel = Channel::unorm8;
  std::uint8_t channels = 4;  // 1, 2 or 4; 1 for a packed format, whose texel is one number
  bool bgra = false;

  [[nodiscard]] std::uint32_t channel_bytes() const;
  [[nodiscard]] std::uint32_t bytes() const { return channels * channel_bytes(); }
  [[nodiscard]] TexelKind kind() const;
  [[nodiscard]] bool operator==(const PixelFormat&) const = default;
};

// Parse Metal's name without the prefix: rgba8unorm, r32float, bgra8unorm_srgb, rgb10a2unorm.
// Throws DispatchError.
[[nodiscard]] PixelFormat pixel_format(std::string_view name);
[[nodiscard]] std::string to_string(const PixelFormat& format);

// Parse an MSL name without the prefix: 2d, 2d_array, cube, buffer. Throws DispatchError.
[[nodiscard]] TextureType texture_type(std::string_view name);
[[nodiscard]] const char* to_string(TextureType type);
[[nodiscard]] const char* to_string(TexelKind kind);
// Return the dimensions of one slice: 1, 2 or 3.
[[nodiscard]] std::uint32_t dimensions(TextureType type);
// Return whether the slices are array elements, faces or samples.
[[nodiscard]] bool has_slices(TextureType type);

// One mip level. `slices` are depth planes, array elements, faces or samples.
struct TextureLevel {
  std::size_t offset = 0;  // in bytes, from the start of the buffer
  std::uint32_t width = 1, height = 1, slices = 1;
  std::size_t row_bytes = 0;
  std::size_t slice_bytes = 0;

  [[nodiscard]] std::size_t bytes(const PixelFormat& format) const;
};

struct TextureDescriptor {
  TextureType type = TextureType::texture2d;
  PixelFormat format;
  std::vector<TextureLevel> levels;  // from the largest
};

// Texels in memory that host and device share.
class Texture {
 public:
  // Throws DispatchError if sizes, type and buffer do not match.
  Texture(Buffer buffer, TextureDescriptor descriptor);

  [[nodiscard]] const Buffer& buffer() const { return buffer_; }
  [[nodiscard]] const TextureDescriptor& descriptor() const { return descriptor_; }

  // Return the descriptor of the texture in an argument buffer; null where the device does not
  // support it (Device::describe).
  [[nodiscard]] const std::shared_ptr<const void>& handle() const { return handle_; }
  void set_handle(std::shared_ptr<const void> handle) { handle_ = std::move(handle); }
  // Return the texels' buffer, which also keeps the descriptor alive during a dispatch.
  [[nodiscard]] Buffer resource() const;

 private:
  Buffer buffer_;
  TextureDescriptor descriptor_;
  std::shared_ptr<const void> handle_;
};

// Requirements of a kernel's texture parameter.
struct TextureUse {
  TextureType type = TextureType::none;
  TexelKind texel = TexelKind::floating;
  bool depth = false;       // accepts only formats with one floating-point component
  std::uint32_t count = 1;  // of textures or samplers; above 1 for array<texture2d<T>, count>
};

}  // namespace metalbench
