#include "data_types.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string_view>

namespace metal_double {
namespace {

struct Scalar {
  const char* name;
  MTLDataType first;  // the scalar; its vectors follow
  std::size_t bytes;
};

constexpr std::array scalars = {
    Scalar{"float", MTLDataTypeFloat, 4}, Scalar{"half", MTLDataTypeHalf, 2},
    Scalar{"int", MTLDataTypeInt, 4},     Scalar{"uint", MTLDataTypeUInt, 4},
    Scalar{"short", MTLDataTypeShort, 2}, Scalar{"ushort", MTLDataTypeUShort, 2},
    Scalar{"char", MTLDataTypeChar, 1},   Scalar{"uchar", MTLDataTypeUChar, 1},
    Scalar{"bool", MTLDataTypeBool, 1},   Scalar{"long", MTLDataTypeLong, 8},
    Scalar{"ulong", MTLDataTypeULong, 8}, Scalar{"bfloat", MTLDataTypeBFloat, 2},
};

std::string_view canonical(std::string_view type) {
  static const std::map<std::string_view, std::string_view> same = {
      {"int8_t", "char"},         {"uint8_t", "uchar"},         {"int16_t", "short"},
      {"uint16_t", "ushort"},     {"int32_t", "int"},           {"uint32_t", "uint"},
      {"int64_t", "long"},        {"uint64_t", "ulong"},        {"size_t", "ulong"},
      {"unsigned", "uint"},       {"unsigned int", "uint"},     {"unsigned long", "ulong"},
      {"unsigned char", "uchar"}, {"unsigned short", "ushort"}, {"bfloat16_t", "bfloat"},
      {"float16_t", "half"},
  };
  const auto found = same.find(type);
  return found == same.end() ? type : found->second;
}

bool is_extent(char letter) { return letter >= '2' && letter <= '4'; }

// Two to four components, or a matrix: "4", "3x4".
MTLDataType with_extents(const Scalar& scalar, std::string_view rest) {
  const auto first = static_cast<NSUInteger>(scalar.first);
  if (rest.empty()) return scalar.first;
  if (rest.size() == 1 && is_extent(rest[0])) {
    return static_cast<MTLDataType>(first + static_cast<NSUInteger>(rest[0] - '1'));
  }
  const bool matrices = scalar.first == MTLDataTypeFloat || scalar.first == MTLDataTypeHalf;
  if (matrices && rest.size() == 3 && is_extent(rest[0]) && rest[1] == 'x' && is_extent(rest[2])) {
    const auto number = static_cast<NSUInteger>((rest[0] - '2') * 3 + (rest[2] - '2'));
    return static_cast<MTLDataType>(first + 4 + number);
  }
  return MTLDataTypeStruct;
}

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

double bfloat_value(std::uint16_t bits) {
  const std::uint32_t wide = std::uint32_t{bits} << 16;
  return load<float>(reinterpret_cast<const std::byte*>(&wide));
}

metalbench::ConstantScalar scalar_value(const std::byte* bytes, MTLDataType scalar) {
  switch (scalar) {
    case MTLDataTypeFloat:
      return double{load<float>(bytes)};
    case MTLDataTypeHalf:
      return static_cast<double>(load<_Float16>(bytes));
    case MTLDataTypeBFloat:
      return bfloat_value(load<std::uint16_t>(bytes));
    case MTLDataTypeBool:
      return load<std::uint8_t>(bytes) != 0;
    case MTLDataTypeInt:
      return std::int64_t{load<std::int32_t>(bytes)};
    case MTLDataTypeUInt:
      return std::int64_t{load<std::uint32_t>(bytes)};
    case MTLDataTypeShort:
      return std::int64_t{load<std::int16_t>(bytes)};
    case MTLDataTypeUShort:
      return std::int64_t{load<std::uint16_t>(bytes)};
    case MTLDataTypeChar:
      return std::int64_t{load<std::int8_t>(bytes)};
    case MTLDataTypeUChar:
      return std::int64_t{load<std::uint8_t>(bytes)};
    default:
      return load<std::int64_t>(bytes);
  }
}

}  // namespace

MTLDataType data_type(const std::string& type) {
  std::string_view text = type;
  for (const std::string_view prefix : {"metal::", "packed_"}) {
    if (text.starts_with(prefix)) text.remove_prefix(prefix.size());
  }
  text = canonical(text);
  for (const Scalar& scalar : scalars) {
    if (!text.starts_with(scalar.name)) continue;
    const std::string_view rest = text.substr(std::strlen(scalar.name));
    const MTLDataType found = with_extents(scalar, rest);
    if (found != MTLDataTypeStruct) return found;
  }
  return MTLDataTypeStruct;
}

NSUInteger alignment_of(const metalbench::Argument& argument) {
  constexpr NSUInteger most_of_structures = 4;
  const std::string_view type = argument.type;
  const bool is_packed = type.find("packed_") != std::string_view::npos;
  const NSUInteger bytes = argument.element_bytes;
  for (const Scalar& scalar : scalars) {
    const auto beyond =
        static_cast<NSUInteger>(data_type(argument.type)) - static_cast<NSUInteger>(scalar.first);
    if (beyond == 0 || (beyond < 4 && is_packed)) return scalar.bytes;
    if (beyond < 4) return std::bit_ceil(beyond + 1) * scalar.bytes;
    // The matrices: float2x2 to float4x4 and their kin, of columns of two to four.
    const bool has_matrices = scalar.first == MTLDataTypeFloat || scalar.first == MTLDataTypeHalf;
    if (has_matrices && beyond < 13) return std::bit_ceil((beyond - 4) % 3 + 2) * scalar.bytes;
  }
  return bytes == 0 ? 1 : std::min(most_of_structures, bytes & (~bytes + 1));
}

MTLDataType texel_type(const metalbench::Argument& argument) {
  const std::size_t begin = argument.type.find("<");
  const std::size_t nested = argument.type.find("<", begin + 1);
  const std::size_t from = (nested == std::string::npos ? begin : nested) + 1;
  const std::string name =
      argument.type.substr(from, argument.type.find_first_of(",>", from) - from);
  const MTLDataType type = data_type(name);
  if (type != MTLDataTypeStruct) return type;
  return argument.texture.texel == metalbench::TexelKind::floating         ? MTLDataTypeFloat
         : argument.texture.texel == metalbench::TexelKind::signed_integer ? MTLDataTypeInt
                                                                           : MTLDataTypeUInt;
}

metalbench::ConstantValue constant_value(const void* bytes, MTLDataType type) {
  const auto* begin = static_cast<const std::byte*>(bytes);
  for (const Scalar& scalar : scalars) {
    const auto components = static_cast<NSUInteger>(type) - static_cast<NSUInteger>(scalar.first);
    if (components == 0) {
      return std::visit([](auto one) -> metalbench::ConstantValue { return one; },
                        scalar_value(begin, type));
    }
    if (components > 3) continue;
    std::vector<metalbench::ConstantScalar> vector;
    for (NSUInteger i = 0; i <= components; ++i) {
      vector.push_back(scalar_value(begin + i * scalar.bytes, scalar.first));
    }
    return vector;
  }
  throw std::invalid_argument("no function constant has the data type " + std::to_string(type));
}

}  // namespace metal_double
