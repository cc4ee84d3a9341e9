#pragma once

#include <cstdint>

#include "core/sampling.h"

namespace metalbench {

// The time that samples are made of.
[[nodiscard]] double on(Clock clock, const Timing& timing);

// Warms a source up until it has settled, at least `warmup_ns`; returns the passes that make its
// windows long enough for the clock.
[[nodiscard]] std::uint32_t warm_up(const Source& source, const Sources& sources,
                                    const SamplePlan& plan, double warmup_ns);

// Once more, with the passes known.
void warm_up_again(const Source& source, std::uint32_t passes, const Sources& sources,
                   double warmup_ns);

}  // namespace metalbench
