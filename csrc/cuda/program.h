#pragma once

#include <memory>
#include <span>

#include "core/device.h"
#include "cuda/ptx.h"

namespace metalbench::cuda {

// `instead` replaces every kernel, unless it is null.
[[nodiscard]] std::unique_ptr<Program> make_program(std::shared_ptr<const Gpu> gpu,
                                                    std::span<const Dispatch> dispatches,
                                                    const Modules* instead);

}  // namespace metalbench::cuda
