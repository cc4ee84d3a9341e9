#pragma once

#include <memory>
#include <span>

#include "core/device.h"
#include "metal/gpu.h"

namespace metalbench::metal {

// Throws DispatchError when a pipeline or a buffer belongs to another device, Unsupported for what
// Metal cannot bind.
[[nodiscard]] std::unique_ptr<Program> make_program(std::shared_ptr<Gpu> gpu,
                                                    std::span<const Dispatch> dispatches);
// The same launches with the same bindings, of a kernel that does nothing.
[[nodiscard]] std::unique_ptr<Program> make_null_program(std::shared_ptr<Gpu> gpu,
                                                         std::span<const Dispatch> dispatches);

}  // namespace metalbench::metal
