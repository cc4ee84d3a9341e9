#include "cpu/textures.h"

#include <algorithm>
#include <span>

namespace metalbench::cpu {
namespace {

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

}  // namespace

std::shared_ptr<const mb::Texture> describe(const Texture& texture) {
  struct Described {
    mb::Texture texture;
    std::vector<mb::TextureLevel> smaller;
    Texture owner;
  };
  const TextureDescriptor& descriptor = texture.descriptor();
  auto made = std::make_shared<Described>(Described{{}, {}, texture});
  // Avoids a reference cycle.
  made->owner.set_handle(nullptr);
  for (std::size_t i = 1; i < descriptor.levels.size(); ++i) {
    made->smaller.push_back(level_of(texture, descriptor.levels[i]));
  }
  made->texture = {level_of(texture, descriptor.levels.front()),
                   made->smaller.data(),
                   static_cast<mb::u32>(descriptor.levels.size()),
                   descriptor.format.channel,
                   descriptor.format.channels,
                   descriptor.format.bgra};
  return {made, &made->texture};
}

void TextureTable::bind(std::uint32_t index, const Textures& textures) {
  textures_.resize(std::max(textures_.size(), index + textures.size()));
  for (const Texture& texture : textures) {
    owners_.push_back(describe(texture));
    textures_[index++] = *owners_.back();
  }
}

void TextureTable::bind(std::uint32_t index, const Samplers& samplers) {
  samplers_.resize(std::max(samplers_.size(), index + samplers.size()));
  std::ranges::copy(samplers, samplers_.begin() + index);
}

bool TextureTable::holds(const std::byte* address) const {
  const auto is_in = [address](const auto& table) {
    const auto bytes = std::as_bytes(std::span(table));
    return address >= bytes.data() && address < bytes.data() + bytes.size();
  };
  return is_in(textures_) || is_in(samplers_);
}

void describe(const mb::ArgumentInfo& found, Argument& argument) {
  argument.element = static_cast<Element>(found.element);
  argument.texture.count = std::max(found.count, 1U);
  // The kernel's parameter is the tensor.
  if (is_extents(argument)) describe_extents(argument);
  if (argument.kind != ArgumentKind::texture) return;
  argument.texture.type = found.texture.type;
  argument.texture.texel = found.texture.texel;
  argument.texture.depth = found.texture.depth;
  argument.access = access_of(found.texture.access);
}

}  // namespace metalbench::cpu
