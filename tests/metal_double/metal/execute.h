#pragma once

#include <cstdint>
#include <memory>
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

// Runs the passes of a command buffer that was committed at this time, unless something is to fail.
[[nodiscard]] Outcome run_passes(const std::vector<std::shared_ptr<Pass>>& passes,
                                 std::uint64_t committed_ns, const Surroundings& surroundings);

// Waits until the host may learn that the GPU's work ended at this tick.
void wait_for_news_of(std::int64_t end);

}  // namespace metal_double
