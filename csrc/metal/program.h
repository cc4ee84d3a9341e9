#pragma once

#include <memory>
#include <span>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Throws DispatchError if a pipeline or buffer belongs to another device, Unsupported for arguments
// that Metal cannot bind.
[[nodiscard]] std::unique_ptr<Program> make_program(std::shared_ptr<Gpu> gpu,
                                                    std::span<const Dispatch> dispatches);
// Make the same launches and bindings with an empty kernel.
[[nodiscard]] std::unique_ptr<Program> make_null_program(std::shared_ptr<Gpu> gpu,
                                                         std::span<const Dispatch> dispatches);

}  // namespace metalbench::metal
