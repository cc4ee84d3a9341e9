#pragma once

#import <Foundation/NSString.h>

#include <optional>
#include <string>
#include <string_view>

namespace metal_double {

// Valid as long as the string.
[[nodiscard]] inline std::string_view view(NSString* text) {
  if (text == nil) return {};
  return {text.UTF8String, [text lengthOfBytesUsingEncoding:NSUTF8StringEncoding]};
}

[[nodiscard]] NSString* make_string(std::string text);
// As UTF-8; nothing for bytes that the encoding does not allow.
[[nodiscard]] std::optional<std::string> decode(std::string_view bytes, NSStringEncoding encoding);
// What UTF-8 text takes in UTF-16.
[[nodiscard]] NSUInteger utf16_units(std::string_view text);

}  // namespace metal_double
