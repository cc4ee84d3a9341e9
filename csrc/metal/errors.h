#pragma once

#import <Foundation/Foundation.h>

#include <string>

#include "metal/strings.h"

namespace metalbench::metal {

// Return Metal's own message.
[[nodiscard]] inline std::string describe(NSError* error) {
  if (error == nil) return "Metal gives no reason";
  return to_string(error.localizedDescription);
}

// Return the message, with domain and code if it does not identify the error.
[[nodiscard]] inline std::string describe_with_code(NSError* error) {
  if (error == nil) return describe(error);
  return describe(error) + " (" + to_string(error.domain) + " " + std::to_string(error.code) + ")";
}

}  // namespace metalbench::metal
