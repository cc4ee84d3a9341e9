#include "executor/texture_messages.h"

#include <cstring>
#include <type_traits>
#include <utility>

namespace metalbench::executor {
namespace {

static_assert(std::is_trivially_copyable_v<Sampler>);

void put(Writer& message, const TextureLevel& level) {
  message.put(std::uint64_t{level.offset});
  message.put(level.width);
  message.put(level.height);
  message.put(level.slices);
  message.put(std::uint64_t{level.row_bytes});
  message.put(std::uint64_t{level.slice_bytes});
}

TextureLevel level_from(Reader& message) {
  TextureLevel level;
  level.offset = message.get<std::uint64_t>();
  level.width = message.get<std::uint32_t>();
  level.height = message.get<std::uint32_t>();
  level.slices = message.get<std::uint32_t>();
  level.row_bytes = message.get<std::uint64_t>();
  level.slice_bytes = message.get<std::uint64_t>();
  return level;
}

}  // namespace

void put(Writer& message, const Textures& textures) {
  message.put(static_cast<std::uint32_t>(textures.size()));
  for (const Texture& texture : textures) {
    const TextureDescriptor& descriptor = texture.descriptor();
    put(message, texture.buffer());
    message.put(static_cast<std::uint32_t>(descriptor.type));
    message.put(static_cast<std::uint32_t>(descriptor.format.channel));
    message.put(std::uint32_t{descriptor.format.channels});
    message.put(std::uint32_t{descriptor.format.bgra});
    message.put(static_cast<std::uint32_t>(descriptor.levels.size()));
    for (const TextureLevel& level : descriptor.levels) put(message, level);
  }
}

void put(Writer& message, const Samplers& samplers) {
  message.put_bytes(std::as_bytes(std::span(samplers)));
}

Textures textures_from(Reader& message, const std::function<Buffer(Reader&)>& buffer_from) {
  Textures textures;
  for (auto left = message.get<std::uint32_t>(); left > 0; --left) {
    Buffer buffer = buffer_from(message);
    TextureDescriptor descriptor;
    descriptor.type = static_cast<TextureType>(message.get<std::uint32_t>());
    descriptor.format.channel = static_cast<mb::Channel>(message.get<std::uint32_t>());
    descriptor.format.channels = static_cast<std::uint8_t>(message.get<std::uint32_t>());
    descriptor.format.bgra = message.get<std::uint32_t>() != 0;
    descriptor.levels.resize(message.get<std::uint32_t>());
    for (TextureLevel& level : descriptor.levels) level = level_from(message);
    textures.push_back({std::move(buffer), std::move(descriptor)});
  }
  return textures;
}

Samplers samplers_from(Reader& message) {
  const auto bytes = message.get_bytes();
  Samplers samplers(bytes.size() / sizeof(Sampler));
  std::memcpy(samplers.data(), bytes.data(), samplers.size() * sizeof(Sampler));
  return samplers;
}

}  // namespace metalbench::executor
