#pragma once

#include "metal/gpu.h"

namespace metalbench::metal {

// Resolution of GPUStartTime and GPUEndTime in ns, seen on a few tiny windows.
[[nodiscard]] double measure_tick_ns(Gpu& gpu);

}  // namespace metalbench::metal
