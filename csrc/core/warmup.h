#pragma once

#include <cstdint>

#include "core/sampling.h"

namespace metalbench {

// Return the duration of a window on the clock of the samples.
[[nodiscard]] double on(Clock clock, const Timing& timing);

// Warm a source up for at least `warmup_ns`, until its times are stable. Return the number of
// passes that makes a window long enough for the clock.
[[nodiscard]] std::uint32_t warm_up(const WindowSource& source, const WindowSources& sources,
                                    const SamplePlan& plan, double warmup_ns);

// Repeat the warm-up with a known number of passes.
void warm_up_again(const WindowSource& source, std::uint32_t passes, const WindowSources& sources,
                   double warmup_ns);

}  // namespace metalbench
