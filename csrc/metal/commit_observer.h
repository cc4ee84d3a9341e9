// GPU time of command buffers that other libraries in this process commit, such as MLX.
#pragma once

#include <memory>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Observe all command buffers except those of our own queues. Null if commits cannot be hooked.
[[nodiscard]] std::unique_ptr<Observer> observe_commits(Gpu& gpu);

}  // namespace metalbench::metal
