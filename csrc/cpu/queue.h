#pragma once

#include <memory>

#include "core/queue.h"
#include "cpu/program.h"

namespace metalbench::cpu {

// Make a queue that runs short launches on the calling thread, and others on all workers.
[[nodiscard]] std::shared_ptr<Queue> make_queue(std::shared_ptr<Device> device,
                                                ProgramContext context);

}  // namespace metalbench::cpu
