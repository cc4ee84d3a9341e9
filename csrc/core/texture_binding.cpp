#include "core/texture_binding.h"

namespace metalbench {
namespace {

std::string several(const Argument& argument) {
  const char* what = argument.kind == ArgumentKind::texture ? " texture" : " sampler";
  const std::uint32_t count = argument.texture.count;
  return count == 1 ? std::string("a") + what : "a list of " + std::to_string(count) + what + "s";
}

std::string mismatch(const Argument& argument, const TextureDescriptor& given) {
  const TextureUse& use = argument.texture;
  if (given.type != use.type) {
    return "expected a texture of kind " + std::string(to_string(use.type)) + " for " +
           argument.type + ", got " + to_string(given.type);
  }
  const PixelFormat& format = given.format;
  if (format.kind() != use.texel ||
      (use.depth && (format.channels != 1 || mb::is_packed(format.channel)))) {
    return "expected a" + std::string(use.texel == TexelKind::unsigned_integer ? "n " : " ") +
           to_string(use.texel) + " format" + (use.depth ? " of one component" : "") + " for " +
           argument.type + ", got " + to_string(format);
  }
  return "";
}

}  // namespace

std::string mismatch(const Argument& argument, const Value& value) {
  std::size_t count = 0;
  if (argument.kind == ArgumentKind::sampler) {
    if (const auto* samplers = std::get_if<Samplers>(&value)) count = samplers->size();
  } else if (const auto* textures = std::get_if<Textures>(&value)) {
    count = textures->size();
    for (const Texture& texture : *textures) {
      std::string wrong = mismatch(argument, texture.descriptor());
      if (!wrong.empty()) return wrong;
    }
  }
  if (count == argument.texture.count) return "";
  return "expected " + several(argument) + " for " + argument.type + ", got " +
         (count == 0 ? "something else" : std::to_string(count));
}

}  // namespace metalbench
