#include "metal/reflection.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

#include "metal/data_types.h"
#include "metal/strings.h"
#include "metal/tensors.h"

namespace metalbench::metal {
namespace {

// https://developer.apple.com/metal/Metal-Feature-Set-Tables.pdf: "Minimum constant buffer offset
// alignment" of Apple's GPUs.
constexpr std::uint32_t least_constant_alignment = 4;

std::optional<ArgumentKind> kind_of(id<MTLBinding> binding) {
  if (is_tensor(binding)) return ArgumentKind::buffer;
  switch (binding.type) {
    case MTLBindingTypeBuffer:
      return ArgumentKind::buffer;
    case MTLBindingTypeThreadgroupMemory:
      return ArgumentKind::threadgroup;
    case MTLBindingTypeTexture:
      return ArgumentKind::texture;
    case MTLBindingTypeSampler:
      return ArgumentKind::sampler;
    default:
      return std::nullopt;
  }
}

Access access_of(MTLBindingAccess access) {
  switch (access) {
    case MTLBindingAccessReadOnly:
      return Access::read;
    case MTLBindingAccessWriteOnly:
      return Access::write;
    default:
      return Access::read_write;
  }
}

// Metal's reflection does not distinguish sampled textures from textures that are only read.
Access texture_access(Access access, const TextureUse& use) {
  const bool can_be_sampled =
      use.type != TextureType::texture_buffer && use.type != TextureType::texture2d_ms;
  return access == Access::read && can_be_sampled ? Access::sample : access;
}

// Return the access in "texture2d<float, access::write>".
Access texture_access(std::string_view written, Access otherwise) {
  constexpr std::string_view scope = "access::";
  const std::size_t begin = written.rfind(scope);
  if (begin == std::string_view::npos) return otherwise;
  const std::string_view rest = written.substr(begin + scope.size());
  const std::string_view word = rest.substr(0, rest.find_first_of(",> "));
  for (const Access access : {Access::read, Access::read_write, Access::write, Access::sample}) {
    if (word == to_string(access)) return access;
  }
  return otherwise;
}

// Return 4 for "array<sampler, 4>"; else 1.
std::uint32_t written_count(std::string_view type) {
  const std::size_t comma = type.rfind(',');
  if (type.find("array<") == std::string_view::npos || comma == std::string_view::npos) return 1;
  const std::size_t first = type.find_first_of("0123456789", comma);
  std::uint32_t count = 1;
  if (first != std::string_view::npos) {
    std::from_chars(type.data() + first, type.data() + type.size(), count);
  }
  return std::max(count, 1U);
}

void describe_buffer(id<MTLBufferBinding> binding, Argument& argument) {
  argument.type = type_name(binding.bufferDataType);
  argument.address_space = "device";
  argument.element_bytes = static_cast<std::uint32_t>(binding.bufferDataSize);
  argument.alignment = static_cast<std::uint32_t>(binding.bufferAlignment);
  if (const auto vector = vector_type(binding.bufferDataType)) argument.element = vector->scalar;
}

void describe_threadgroup(id<MTLThreadgroupBinding> binding, Argument& argument) {
  argument.address_space = "threadgroup";
  argument.access = Access::read_write;
  argument.element_bytes = static_cast<std::uint32_t>(binding.threadgroupMemoryDataSize);
}

void describe_texture(id<MTLTextureBinding> binding, Argument& argument) {
  const char* const component = binding.depthTexture ? "depth" : "texture";
  argument.texture.type = texture_type(binding.textureType);
  argument.texture.texel = texel_kind(binding.textureDataType);
  argument.texture.depth = binding.depthTexture;
  argument.texture.count = std::max(static_cast<std::uint32_t>(binding.arrayLength), 1U);
  argument.access = texture_access(argument.access, argument.texture);
  argument.type = std::string(component) + metalbench::to_string(argument.texture.type) + "<" +
                  type_name(binding.textureDataType) + ">";
}

Argument argument_of(id<MTLBinding> binding, ArgumentKind kind) {
  Argument argument;
  argument.name = to_string(binding.name);
  argument.kind = kind;
  argument.index = static_cast<std::uint32_t>(binding.index);
  argument.access = access_of(binding.access);
  switch (kind) {
    case ArgumentKind::buffer:
      if (is_tensor(binding)) {
        describe_tensor(binding, argument);
      } else {
        describe_buffer((id<MTLBufferBinding>)binding, argument);
      }
      break;
    case ArgumentKind::threadgroup:
      describe_threadgroup((id<MTLThreadgroupBinding>)binding, argument);
      break;
    case ArgumentKind::texture:
      describe_texture((id<MTLTextureBinding>)binding, argument);
      break;
    case ArgumentKind::sampler:
      argument.type = "sampler";
      break;
  }
  return argument;
}

void take_words(const Argument& written, Argument& argument) {
  argument.name = written.name;
  argument.type = written.type;
  argument.address_space = written.address_space;
  if (argument.address_space == "constant") {
    argument.alignment = std::max(argument.alignment, least_constant_alignment);
  }
  if (argument.kind == ArgumentKind::texture) {
    argument.access = texture_access(written.type, argument.access);
  }
  if (argument.kind == ArgumentKind::sampler) {
    argument.texture.count = written_count(written.type);
  }
}

struct ReflectedBinding {
  Argument argument;
  bool is_parameter = true;  // threadgroup variables inside the kernel are bindings as well
};

std::vector<ReflectedBinding> found_in(MTLComputePipelineReflection* reflection) {
  std::vector<ReflectedBinding> found;
  for (id<MTLBinding> binding in reflection.bindings) {
    const auto kind = kind_of(binding);
    if (kind) found.push_back({argument_of(binding, *kind), static_cast<bool>(binding.argument)});
  }
  std::ranges::sort(found, {}, [](const ReflectedBinding& one) {
    return std::tuple(!one.is_parameter, one.argument.kind, one.argument.index);
  });
  return found;
}

// Move arguments that the source declares to `ordered`, with its order and names.
void take_written(const Signature& written, std::vector<ReflectedBinding>& found,
                  std::vector<Argument>& ordered) {
  for (const Argument& parameter : written.arguments) {
    auto match = std::ranges::find_if(found, [&](const ReflectedBinding& one) {
      return one.is_parameter && one.argument.kind == parameter.kind &&
             one.argument.index == parameter.index;
    });
    if (match != found.end()) {
      take_words(parameter, match->argument);
      ordered.push_back(std::move(match->argument));
      found.erase(match);
    } else if (parameter.kind != ArgumentKind::texture) {
      // Unused, so its size does not matter.
      ordered.push_back(parameter);
    }
  }
}

// Complete the extents of tensors, or add them where the source is not known.
void take_extents(MTLComputePipelineReflection* reflection, std::vector<Argument>& arguments) {
  for (id<MTLBinding> binding in reflection.bindings) {
    if (!is_tensor(binding)) continue;
    const auto tensor = std::ranges::find_if(arguments, [&](const Argument& one) {
      return one.kind == ArgumentKind::buffer && one.index == binding.index;
    });
    if (tensor == arguments.end()) continue;
    Argument extents = extents_argument(binding, *tensor);
    const auto known = std::ranges::find(arguments, extents.name, &Argument::name);
    if (known == arguments.end()) {
      arguments.push_back(std::move(extents));
    } else {
      known->type = extents.type;
      describe_extents(*known);
    }
  }
}

}  // namespace

std::vector<Argument> arguments_of(MTLComputePipelineReflection* reflection,
                                   const std::optional<Signature>& written) {
  std::vector<ReflectedBinding> found = found_in(reflection);
  std::vector<Argument> ordered;
  if (written) take_written(*written, found, ordered);
  for (ReflectedBinding& rest : found) {
    if (rest.is_parameter) ordered.push_back(std::move(rest.argument));
  }
  take_extents(reflection, ordered);
  return ordered;
}

}  // namespace metalbench::metal
