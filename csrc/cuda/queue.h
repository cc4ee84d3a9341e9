#pragma once

#include <memory>

#include "core/queue.h"
#include "cuda/gpu.h"

namespace metalbench::cuda {

// Make a queue over the GPU's stream. Work runs while the host goes on.
[[nodiscard]] std::shared_ptr<Queue> make_queue(std::shared_ptr<const Gpu> gpu);

}  // namespace metalbench::cuda
