#pragma once

#include <memory>

#include "core/queue.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Make a queue over the command queue of the device's windows. Programs run while the host goes on.
[[nodiscard]] std::shared_ptr<Queue> make_queue(std::shared_ptr<Gpu> gpu);

}  // namespace metalbench::metal
