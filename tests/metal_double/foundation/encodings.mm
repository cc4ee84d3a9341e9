#include <algorithm>

#include "foundation/text.h"

namespace metal_double {
namespace {

bool is_ascii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x80; });
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// How many bytes the character at the start takes, 0 where it is none.
std::size_t utf8_character(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (lead < 0x80) return 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes.size() < size) return 0;
  const std::string_view rest = bytes.substr(1, size - 1);
  if (!std::all_of(rest.begin(), rest.end(), is_continuation)) return 0;
  const auto second = static_cast<unsigned char>(bytes[1]);
  const bool is_overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool is_beyond = (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f);
  return is_overlong || is_beyond ? 0 : size;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = utf8_character(bytes);
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string from_latin1(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    const auto code = static_cast<unsigned char>(byte);
    if (code < 0x80) {
      text += byte;
    } else {
      text += static_cast<char>(0xc0 | code >> 6);
      text += static_cast<char>(0x80 | (code & 0x3f));
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> decode(std::string_view bytes, NSStringEncoding encoding) {
  if (encoding == NSISOLatin1StringEncoding) return from_latin1(bytes);
  const bool is_valid = encoding == NSUTF8StringEncoding    ? is_utf8(bytes)
                        : encoding == NSASCIIStringEncoding ? is_ascii(bytes)
                                                            : false;
  return is_valid ? std::optional<std::string>(bytes) : std::nullopt;
}

NSUInteger utf16_units(std::string_view text) {
  NSUInteger units = 0;
  for (const char byte : text) {
    if (!is_continuation(byte)) units += static_cast<unsigned char>(byte) >= 0xf0 ? 2 : 1;
  }
  return units;
}

}  // namespace metal_double
