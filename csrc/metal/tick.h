#pragma once

#include "metal/gpu.h"

namespace metalbench::metal {

// Measure the resolution of GPUStartTime and GPUEndTime in ns, on a few tiny windows.
[[nodiscard]] double measure_tick_ns(Gpu& gpu);

}  // namespace metalbench::metal
