#pragma once

#import <Foundation/Foundation.h>

#include <string>

namespace metal_double {

[[nodiscard]] inline NSString* to_nsstring(const std::string& text) {
  return [[NSString alloc] initWithBytes:text.data()
                                  length:text.size()
                                encoding:NSUTF8StringEncoding];
}

[[nodiscard]] inline std::string to_string(NSString* text) {
  return text == nil ? std::string() : std::string([text UTF8String]);
}

[[nodiscard]] inline NSError* make_error(NSString* domain, NSInteger code,
                                         const std::string& text) {
  return [NSError errorWithDomain:domain
                             code:code
                         userInfo:@{NSLocalizedDescriptionKey : to_nsstring(text)}];
}

// Where the caller asked for one.
inline void report(NSError* __autoreleasing* error, NSString* domain, NSInteger code,
                   const std::string& text) {
  if (error != nullptr) *error = make_error(domain, code, text);
}

}  // namespace metal_double
