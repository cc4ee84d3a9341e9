#include "core/texture.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/errors.h"
#include "core/types.h"

namespace metalbench {
namespace {

using std::string_view;

struct ChannelInfo {
  string_view name;
  std::uint32_t bytes;
  TexelKind kind;
};
constexpr std::array channels = {
    ChannelInfo{"8unorm", 1, TexelKind::floating},
    ChannelInfo{"8snorm", 1, TexelKind::floating},
    ChannelInfo{"8uint", 1, TexelKind::unsigned_integer},
    ChannelInfo{"8sint", 1, TexelKind::signed_integer},
    ChannelInfo{"16unorm", 2, TexelKind::floating},
    ChannelInfo{"16snorm", 2, TexelKind::floating},
    ChannelInfo{"16uint", 2, TexelKind::unsigned_integer},
    ChannelInfo{"16sint", 2, TexelKind::signed_integer},
    ChannelInfo{"16float", 2, TexelKind::floating},
    ChannelInfo{"32uint", 4, TexelKind::unsigned_integer},
    ChannelInfo{"32sint", 4, TexelKind::signed_integer},
    ChannelInfo{"32float", 4, TexelKind::floating},
    ChannelInfo{"8unorm_srgb", 1, TexelKind::floating},
    ChannelInfo{"b5g6r5unorm", 2, TexelKind::floating},
    ChannelInfo{"a1bgr5unorm", 2, TexelKind::floating},
    ChannelInfo{"abgr4unorm", 2, TexelKind::floating},
    ChannelInfo{"bgr5a1unorm", 2, TexelKind::floating},
    ChannelInfo{"rgb10a2unorm", 4, TexelKind::floating},
    ChannelInfo{"bgr10a2unorm", 4, TexelKind::floating},
    ChannelInfo{"rgb10a2uint", 4, TexelKind::unsigned_integer},
    ChannelInfo{"rg11b10float", 4, TexelKind::floating},
    ChannelInfo{"rgb9e5float", 4, TexelKind::floating},
};

struct TypeInfo {
  const char* name;
  std::uint32_t dimensions;
  bool slices;
};
constexpr std::array types = {
    TypeInfo{"none", 0, false},   TypeInfo{"1d", 1, false},      TypeInfo{"1d_array", 1, true},
    TypeInfo{"2d", 2, false},     TypeInfo{"2d_array", 2, true}, TypeInfo{"2d_ms", 2, true},
    TypeInfo{"3d", 3, false},     TypeInfo{"cube", 2, true},     TypeInfo{"cube_array", 2, true},
    TypeInfo{"buffer", 1, false},
};

const ChannelInfo& info_of(Channel channel) { return channels[static_cast<std::size_t>(channel)]; }
const TypeInfo& info_of(TextureType type) { return types[static_cast<std::size_t>(type)]; }

bool is_known(Channel channel) { return static_cast<std::size_t>(channel) < channels.size(); }

[[noreturn]] void reject(const std::string& what) { throw DispatchError("texture: " + what); }

void check_shape(TextureType type, const TextureLevel& level) {
  const std::string size = to_string(Size3{level.width, level.height, level.slices});
  if (level.width == 0 || level.height == 0 || level.slices == 0) {
    reject("expected at least one texel, got size " + size);
  }
  const bool cube = type == TextureType::texturecube || type == TextureType::texturecube_array;
  const bool six = type == TextureType::texturecube ? level.slices == 6 : level.slices % 6 == 0;
  if (cube && (level.width != level.height || !six)) {
    reject("expected square faces, six for each cube, got (width, height, faces) " + size);
  }
}

void check_level(const TextureDescriptor& descriptor, std::size_t number) {
  const TextureLevel& largest = descriptor.levels.front();
  const TextureLevel& level = descriptor.levels[number];
  const auto halved = [number](std::uint32_t size) { return std::max(1U, size >> number); };
  const std::uint32_t slices =
      descriptor.type == TextureType::texture3d ? halved(largest.slices) : largest.slices;
  const Size3 expected{halved(largest.width), halved(largest.height), slices};
  const Size3 given{level.width, level.height, level.slices};
  if (number < 32 && expected == given) return;
  reject("level " + std::to_string(number) + ": expected size " + to_string(expected) + ", got " +
         to_string(given));
}

}  // namespace

std::uint32_t PixelFormat::channel_bytes() const { return info_of(channel).bytes; }

TexelKind PixelFormat::kind() const { return info_of(channel).kind; }

PixelFormat pixel_format(string_view name) {
  constexpr std::array<std::pair<string_view, int>, 5> prefixes = {
      {{"rgba", 4}, {"rg", 2}, {"r", 1}, {"bgra", 4}, {"depth", 1}}};
  const auto channel_of = [](string_view part) {
    const auto found = std::ranges::find(channels, part, &ChannelInfo::name);
    return static_cast<Channel>(found - channels.begin());
  };
  const Channel whole = channel_of(name);
  if (is_known(whole) && mb::is_packed(whole)) return {whole, 1, false};
  for (const auto& [prefix, count] : prefixes) {
    if (!name.starts_with(prefix)) continue;
    const Channel found = channel_of(name.substr(prefix.size()));
    if (!is_known(found) || mb::is_packed(found)) continue;
    const PixelFormat format{found, static_cast<std::uint8_t>(count), prefix == "bgra"};
    const bool depth = prefix != "depth" || name == "depth16unorm" || name == "depth32float";
    const bool swapped = name == "bgra8unorm" || name == "bgra8unorm_srgb";
    if (depth && (!format.bgra || swapped)) return format;
  }
  std::string known;
  std::string packed;
  for (const ChannelInfo& channel : channels) {
    const bool whole_texel = mb::is_packed(channel_of(channel.name));
    (whole_texel ? packed : known).append(", ").append(channel.name);
  }
  reject("format: expected r, rg or rgba and one of " + known.substr(2) +
         " (such as rgba8unorm), or one of bgra8unorm, bgra8unorm_srgb" + packed + "; got " +
         std::string(name));
}

std::string to_string(const PixelFormat& format) {
  const char* prefix = format.bgra                     ? "bgra"
                       : mb::is_packed(format.channel) ? ""
                       : format.channels == 4          ? "rgba"
                       : format.channels == 2          ? "rg"
                                                       : "r";
  return std::string(prefix).append(info_of(format.channel).name);
}

TextureType texture_type(string_view name) {
  std::string known;
  for (std::size_t i = 1; i < types.size(); ++i) {
    if (name == types[i].name) return static_cast<TextureType>(i);
    known += ", " + std::string(types[i].name);
  }
  reject("kind: expected one of " + known.substr(2) + ", got " + std::string(name));
}

const char* to_string(TextureType type) { return info_of(type).name; }

const char* to_string(TexelKind kind) {
  return kind == TexelKind::floating         ? "floating-point"
         : kind == TexelKind::signed_integer ? "signed integer"
                                             : "unsigned integer";
}

std::uint32_t dimensions(TextureType type) { return info_of(type).dimensions; }

bool has_slices(TextureType type) { return info_of(type).slices; }

std::size_t TextureLevel::bytes(const PixelFormat& format) const {
  if (width == 0 || height == 0 || slices == 0) return 0;
  return (slices - 1) * slice_bytes + (height - 1) * row_bytes +
         std::size_t{width} * format.bytes();
}

Texture::Texture(Buffer buffer, TextureDescriptor descriptor)
    : buffer_(std::move(buffer)), descriptor_(std::move(descriptor)) {
  if (descriptor_.levels.empty()) reject("expected at least one level, got none");
  check_shape(descriptor_.type, descriptor_.levels.front());
  for (std::size_t i = 0; i < descriptor_.levels.size(); ++i) {
    const TextureLevel& level = descriptor_.levels[i];
    check_level(descriptor_, i);
    const std::size_t bytes = level.bytes(descriptor_.format);
    if (level.offset > buffer_.size() || bytes > buffer_.size() - level.offset) {
      reject("level " + std::to_string(i) + " needs " + std::to_string(bytes) +
             " bytes from byte " + std::to_string(level.offset) + "; the buffer has " +
             std::to_string(buffer_.size()));
    }
  }
}

Buffer Texture::resource() const {
  const std::shared_ptr<Storage>& storage = buffer_.storage();
  auto both = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<Storage>>>(
      handle_, storage);
  const Buffer whole(std::shared_ptr<Storage>(std::move(both), storage.get()), buffer_.shared());
  return whole.slice(buffer_.offset(), buffer_.size());
}

}  // namespace metalbench
