#include "cpu/textures.h"

#include <algorithm>

namespace metalbench::cpu {
namespace {

// Both sides list the same values in the same order.
static_assert(static_cast<int>(Channel::float32) == static_cast<int>(mb::Channel::float32));
static_assert(static_cast<int>(TextureType::texture_buffer) ==
              static_cast<int>(mb::TextureType::texture_buffer));
static_assert(static_cast<int>(TexelKind::unsigned_integer) ==
              static_cast<int>(mb::TexelKind::unsigned_integer));
static_assert(static_cast<int>(AddressMode::clamp_to_border) ==
              static_cast<int>(mb::AddressMode::clamp_to_border));
static_assert(static_cast<int>(CompareFunction::always) ==
              static_cast<int>(mb::CompareFunction::always));

mb::TextureLevel level_of(const Texture& texture, const TextureLevel& level) {
  std::byte* begin = texture.buffer().bytes().data() + level.offset;
  return {reinterpret_cast<mb::u8*>(begin),
          level.row_bytes,
          level.slice_bytes,
          texture.descriptor().format.bytes(),
          level.width,
          level.height,
          level.slices};
}

Access access_of(mb::TextureAccess access) {
  switch (access) {
    case mb::TextureAccess::sample:
      return Access::sample;
    case mb::TextureAccess::read:
      return Access::read;
    case mb::TextureAccess::write:
      return Access::write;
    case mb::TextureAccess::read_write:
      return Access::read_write;
  }
  return Access::read_write;
}

mb::Sampler sampler_of(const Sampler& sampler) {
  mb::Sampler found;
  found.normalized = sampler.normalized;
  std::ranges::transform(sampler.address, found.address,
                         [](AddressMode mode) { return static_cast<mb::AddressMode>(mode); });
  found.mag_filter = static_cast<mb::Filter>(sampler.mag_filter);
  found.min_filter = static_cast<mb::Filter>(sampler.min_filter);
  found.mip_filter = static_cast<mb::MipFilter>(sampler.mip_filter);
  found.border = static_cast<mb::BorderColor>(sampler.border);
  found.compare = static_cast<mb::CompareFunction>(sampler.compare);
  found.max_anisotropy = sampler.max_anisotropy;
  found.lod_min = sampler.lod_min;
  found.lod_max = sampler.lod_max;
  return found;
}

}  // namespace

void TextureTable::bind(std::uint32_t index, const Textures& textures) {
  textures_.resize(std::max(textures_.size(), index + textures.size()));
  for (const Texture& texture : textures) {
    const TextureDescriptor& descriptor = texture.descriptor();
    const std::size_t smaller = descriptor.levels.size() - 1;
    levels_.push_back(std::make_unique<mb::TextureLevel[]>(smaller));
    for (std::size_t i = 0; i < smaller; ++i) {
      levels_.back()[i] = level_of(texture, descriptor.levels[i + 1]);
    }
    textures_[index++] = {level_of(texture, descriptor.levels.front()),
                          levels_.back().get(),
                          static_cast<mb::u32>(descriptor.levels.size()),
                          static_cast<mb::Channel>(descriptor.format.channel),
                          descriptor.format.channels,
                          descriptor.format.bgra};
    owners_.push_back(texture);
  }
}

void TextureTable::bind(std::uint32_t index, const Samplers& samplers) {
  samplers_.resize(std::max(samplers_.size(), index + samplers.size()));
  for (const Sampler& sampler : samplers) samplers_[index++] = sampler_of(sampler);
}

void describe(const mb::ArgumentInfo& found, Argument& argument) {
  argument.element = static_cast<Element>(found.element);
  argument.texture.count = std::max(found.count, 1U);
  if (argument.kind != ArgumentKind::texture) return;
  argument.texture.type = static_cast<TextureType>(found.texture.type);
  argument.texture.texel = static_cast<TexelKind>(found.texture.texel);
  argument.texture.depth = found.texture.depth;
  argument.access = access_of(found.texture.access);
}

}  // namespace metalbench::cpu
