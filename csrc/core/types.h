#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/texture.h"

namespace metalbench {

struct Size3 {
  std::uint32_t x = 1, y = 1, z = 1;

  // Return the product; 2^64 - 1 on overflow.
  [[nodiscard]] std::uint64_t count() const {
    const std::uint64_t plane = std::uint64_t{x} * y;
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return z != 0 && plane > most / z ? most : plane * z;
  }
  [[nodiscard]] bool operator==(const Size3&) const = default;
};

[[nodiscard]] std::string to_string(const Size3& size);

struct Limits {
  std::uint32_t max_threads_per_threadgroup = 1024;
  std::uint32_t max_threadgroup_bytes = 32 * 1024;
  std::uint32_t simd_width = 32;
  std::uint32_t max_buffers = 31;
  std::uint32_t max_textures = 128;
  std::uint32_t max_samplers = 16;
};

// Facts about a device by name; units are suffixes (`_bytes`, `_ns`).
using Fact = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;
using Facts = std::map<std::string, Fact>;

struct DeviceInfo {
  std::string kind;  // "cpu", "metal"
  std::string name;
  std::string chip;  // "m4_max", "h100"; empty where kernels have no variants for it
  std::uint32_t cores = 0;
  Limits limits;
  bool checked_builds = false;
  bool own_clock = false;  // whether Timing::device_ns comes from a device clock
  Facts capabilities;
};

enum class ArgumentKind { buffer, threadgroup, texture, sampler };
enum class Access { read, read_write, write, sample };

[[nodiscard]] const char* to_string(ArgumentKind kind);
[[nodiscard]] const char* to_string(Access access);

// Number type in memory; `any` for mixed types such as a struct.
enum class Element : std::uint8_t {
  any,
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  bfloat16,
  float32,
};

// A kernel parameter that the caller must bind.
struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::buffer;
  std::uint32_t index = 0;
  std::string type;           // of what is pointed to, as written: "float4"
  std::string address_space;  // "device", "constant", "threadgroup"; empty for a texture
  Access access = Access::read;
  std::uint32_t element_bytes = 0;  // of `type`: 16 for float4
  Element element = Element::any;   // element type of `type`: float32 for float4
  std::uint32_t alignment = 0;      // required alignment of the address, in bytes; 0 for any
  TextureUse texture;               // of textures and samplers
};

// A tensor of Metal 4 has a second argument, which is named after it: its extents, the innermost
// first, then its strides in elements.
inline constexpr std::string_view extents_suffix = ".extents";
[[nodiscard]] inline bool is_extents(const Argument& argument) {
  return argument.name.ends_with(extents_suffix);
}
// Return the rank in the type `array<long, N>` of extents; 0 if it is not known.
[[nodiscard]] std::uint32_t tensor_rank(const Argument& extents);
// Set the sizes of an argument of extents, which its type has.
void describe_extents(Argument& extents);

// A parameter that the device supplies, such as `thread_position_in_grid`.
struct Attribute {
  std::string name;
  std::string type;
};

// Polled during long work; true requests an early end.
using InterruptPoll = std::function<bool()>;

}  // namespace metalbench
