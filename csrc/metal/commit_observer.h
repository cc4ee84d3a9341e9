// How long the GPU works on what others in this process commit, MLX above all.
#pragma once

#include <memory>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Of all command buffers but those of our own queues. Null where commits cannot be seen.
[[nodiscard]] std::unique_ptr<Observer> observe_commits(Gpu& gpu);

}  // namespace metalbench::metal
