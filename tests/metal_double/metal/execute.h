#pragma once

#import <Foundation/Foundation.h>

#include <cstdint>
#include <string>

#include "commands.h"

namespace metal_double {

struct Outcome {
  std::int64_t end = 0;  // in ticks
  int error_code = 0;    // as of Switch::fail_command_buffer
  std::string text;      // the engine's words for it
};

// Runs what was recorded; its GPU time begins at `start`.
[[nodiscard]] Outcome execute(const Pass& pass, std::int64_t start);

// As Metal describes it.
[[nodiscard]] NSError* error_of(const Outcome& outcome);

}  // namespace metal_double
