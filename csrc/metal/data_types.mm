#include "metal/data_types.h"

#include <algorithm>
#include <iterator>

namespace metalbench::metal {
namespace {

// A scalar and its vectors of two to four components have consecutive values.
struct Family {
  MTLDataType first;
  Element scalar;
  std::uint32_t bytes;
  const char* name;
};

constexpr Family families[] = {
    {MTLDataTypeFloat, Element::float32, 4, "float"},
    {MTLDataTypeHalf, Element::float16, 2, "half"},
    {MTLDataTypeInt, Element::int32, 4, "int"},
    {MTLDataTypeUInt, Element::uint32, 4, "uint"},
    {MTLDataTypeShort, Element::int16, 2, "short"},
    {MTLDataTypeUShort, Element::uint16, 2, "ushort"},
    {MTLDataTypeChar, Element::int8, 1, "char"},
    {MTLDataTypeUChar, Element::uint8, 1, "uchar"},
    {MTLDataTypeBool, Element::boolean, 1, "bool"},
    {MTLDataTypeLong, Element::int64, 8, "long"},
    {MTLDataTypeULong, Element::uint64, 8, "ulong"},
    {MTLDataTypeBFloat, Element::bfloat16, 2, "bfloat"},
};

const Family* family_of(MTLDataType type) {
  for (const Family& family : families) {
    if (type >= family.first && type < family.first + 4) return &family;
  }
  return nullptr;
}

const Family* family_of(Element element) {
  const auto found = std::ranges::find(families, element, &Family::scalar);
  return found == std::end(families) ? nullptr : found;
}

std::string matrix_name(const char* scalar, NSUInteger offset) {
  return scalar + std::to_string(2 + offset / 3) + "x" + std::to_string(2 + offset % 3);
}

}  // namespace

std::optional<VectorType> vector_type(MTLDataType type) {
  const Family* const family = family_of(type);
  if (family == nullptr) return std::nullopt;
  return VectorType{family->scalar, static_cast<std::uint32_t>(type - family->first) + 1};
}

MTLDataType scalar_type(Element element) {
  const Family* const family = family_of(element);
  return family == nullptr ? MTLDataTypeNone : family->first;
}

std::uint32_t scalar_bytes(Element element) {
  const Family* const family = family_of(element);
  return family == nullptr ? 0 : family->bytes;
}

std::string type_name(MTLDataType type) {
  if (const Family* const family = family_of(type)) {
    const NSUInteger components = type - family->first + 1;
    return components == 1 ? family->name : family->name + std::to_string(components);
  }
  if (type >= MTLDataTypeFloat2x2 && type <= MTLDataTypeFloat4x4) {
    return matrix_name("float", type - MTLDataTypeFloat2x2);
  }
  if (type >= MTLDataTypeHalf2x2 && type <= MTLDataTypeHalf4x4) {
    return matrix_name("half", type - MTLDataTypeHalf2x2);
  }
  if (type == MTLDataTypeStruct) return "struct";
  if (type == MTLDataTypeArray) return "array";
  if (type == MTLDataTypePointer) return "pointer";
  return "";
}

TexelKind texel_kind(MTLDataType type) {
  const auto vector = vector_type(type);
  if (!vector) return TexelKind::floating;
  switch (vector->scalar) {
    case Element::int8:
    case Element::int16:
    case Element::int32:
    case Element::int64:
      return TexelKind::signed_integer;
    case Element::boolean:
    case Element::uint8:
    case Element::uint16:
    case Element::uint32:
    case Element::uint64:
      return TexelKind::unsigned_integer;
    default:
      return TexelKind::floating;
  }
}

TextureType texture_type(MTLTextureType type) {
  switch (type) {
    case MTLTextureType1D:
      return TextureType::texture1d;
    case MTLTextureType1DArray:
      return TextureType::texture1d_array;
    case MTLTextureType2D:
      return TextureType::texture2d;
    case MTLTextureType2DArray:
      return TextureType::texture2d_array;
    case MTLTextureType2DMultisample:
      return TextureType::texture2d_ms;
    case MTLTextureType3D:
      return TextureType::texture3d;
    case MTLTextureTypeCube:
      return TextureType::texturecube;
    case MTLTextureTypeCubeArray:
      return TextureType::texturecube_array;
    case MTLTextureTypeTextureBuffer:
      return TextureType::texture_buffer;
    default:
      return TextureType::none;
  }
}

}  // namespace metalbench::metal
