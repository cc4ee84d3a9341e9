#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands.h"
#include "residency.h"
#include "timeline.h"

namespace metal_double {

struct Outcome {
  std::int64_t begin = 0;  // in ticks
  std::int64_t end = 0;
  int error_code = 0;  // as of Switch::fail_command_buffer
  std::string text;    // the engine's words for it
};

// The queue that a pass is on.
struct Surroundings {
  Timeline& timeline;
  std::vector<DoubleResidencySet*> residency_sets;
};

// Runs what was recorded, at the tick `earliest` or later; before it the GPU is busy for `setup_ns`
// with the command buffer.
[[nodiscard]] Outcome execute(const Pass& pass, const Surroundings& surroundings,
                              std::int64_t earliest, double setup_ns);

}  // namespace metal_double
