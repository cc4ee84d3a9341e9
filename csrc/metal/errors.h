#pragma once

#import <Foundation/Foundation.h>

#include <string>

#include "metal/strings.h"

namespace metalbench::metal {

// Metal's own words.
[[nodiscard]] inline std::string describe(NSError* error) {
  if (error == nil) return "Metal gives no reason";
  return to_string(error.localizedDescription);
}

// With what identifies the error where its words do not.
[[nodiscard]] inline std::string describe_with_code(NSError* error) {
  if (error == nil) return describe(error);
  return describe(error) + " (" + to_string(error.domain) + " " + std::to_string(error.code) + ")";
}

}  // namespace metalbench::metal
