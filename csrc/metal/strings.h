#pragma once

#import <Foundation/Foundation.h>

#include <string>
#include <string_view>

namespace metalbench::metal {

[[nodiscard]] inline std::string to_string(NSString* text) {
  const char* const bytes = text.UTF8String;  // null for nil
  return bytes == nullptr ? std::string() : std::string(bytes);
}

// Convert UTF-8, or Latin-1 if the bytes are not UTF-8. Never returns nil.
[[nodiscard]] inline NSString* to_ns(std::string_view text) {
  NSString* const string = [[NSString alloc] initWithBytes:text.data()
                                                    length:text.size()
                                                  encoding:NSUTF8StringEncoding];
  if (string != nil) return string;
  return [[NSString alloc] initWithBytes:text.data()
                                  length:text.size()
                                encoding:NSISOLatin1StringEncoding];
}

}  // namespace metalbench::metal
